// An extension as a CommonJS module, which listens to another one and asks another agent.

module.exports = {
  register(api) {
    api.events.on("notes.turn", (input, facts) => api.logger.log("notes of %s: %j", input, facts));
    api.pipeline.register("turn", async (ctx) => {
      const asked = ctx.isResumed ? null : await ctx.agents.request({ target: "helper", input: "help" });
      api.logger.table([{ helper: asked === null ? "not asked" : asked.response }]);
      return await ctx.next();
    });
    api.pipeline.register("toolCall", async (ctx) => {
      const result = await ctx.next();
      api.logger.debug(ctx.toolName, result.status);
      return result;
    });
  },
};
