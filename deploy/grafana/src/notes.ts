/** What every dashboard over recorded rates says of itself, in Markdown. */
export const recordedNotes = `Rates are read from the rules of \`deploy/prometheus/recording.yaml\`, which a panel's description names: without them
it shows 0. A rule averages over five minutes and is evaluated every 30 seconds, so a change shows within a minute.
**Cluster** and **Namespace** are labels of your scrape configuration; **All** includes processes without them.
**Console** is the address of your control plane's console, to which panels and series link.`;
