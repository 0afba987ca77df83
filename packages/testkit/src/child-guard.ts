// Loaded into every `TestChild` before its own code: ends it when the process that started it is gone.

process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.channel?.unref(); // the guard alone is no reason to stay
