/**
 * A list that each member leaves by itself, at once however long it is. For what every call joins and leaves: of a `Set`,
 * V8 links the tables that it outgrew to the newer ones, so that a table in the old generation keeps later members from
 * being collected (of 300,000 that came and went, a third was promoted; of this list none).
 */
export function unorderedList<Member>() {
  const slots: { readonly member: Member; at: number }[] = [];
  return {
    size: () => slots.length,
    members: (): Member[] => slots.map(({ member }) => member),
    /** Returns how to leave; that returns whether it was a member until then. */
    add(member: Member): () => boolean {
      const slot = { member, at: slots.length };
      slots.push(slot);
      return () => {
        const last = slots.at(-1);
        if (last === undefined || slots[slot.at] !== slot) return false;
        slots[slot.at] = last;
        last.at = slot.at;
        slots.pop();
        return true;
      };
    },
  };
}
