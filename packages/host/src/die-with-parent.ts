/** Loaded before a child's program: the channel closes when the parent ends, by SIGKILL too; then the child ends. */
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

export {};
