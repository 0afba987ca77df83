// The swarm of swarm.test.ts: a planner, researchers by fork_join, a reviewer by request; one tool for each placement.

const TOOL = (name: string, placement: string, exported: string) => `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: ${name} }
spec:
  entry: ./${name}.ts
  placement: ${placement}
  exports:
    - name: ${exported}
      effect: idempotent
      parameters: { type: object, properties: { topic: { type: string } }, required: [topic] }
`;

const YAML = `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
      - when: { agent: planner, step: 0 }
        reply:
          text: "First I look around."
          toolCalls:
            - { name: desk__note, arguments: { topic: "{{input}}" } }
            - { name: archive__find, arguments: { topic: "{{input}}" } }
            - { name: lab__measure, arguments: { topic: "{{input}}" } }
      - when: { agent: planner, step: 1 }
        reply:
          text: "Two researchers."
          toolCalls:
            - name: fork_join
              arguments:
                tasks:
                  - { target_strategy: new, target_ref: researcher, instruction: "warm {{input}}" }
                  - { target_strategy: new, target_ref: researcher, instruction: "cold {{input}}" }
      - when: { agent: planner, step: 2 }
        reply:
          text: "Now the review."
          toolCalls: [ { name: agents__request, arguments: { target: reviewer, input: "Review {{result}}" } } ]
      - when: { agent: planner, tool: agents__request }
        reply: { text: "Reviewed: {{result.response}}" }
      - when: { agent: researcher, step: 0 }
        reply: { text: "Measuring.", toolCalls: [ { name: lab__measure, arguments: { topic: "{{input}}" } } ] }
      - when: { agent: researcher, tool: lab__measure }
        reply: { text: "Looking it up.", toolCalls: [ { name: archive__find, arguments: { topic: "{{input}}" } } ] }
      - when: { agent: researcher, tool: archive__find }
        reply: { text: "{{result.found}}" }
      - when: { agent: reviewer, step: 0 }
        reply: { text: "Noting.", toolCalls: [ { name: desk__note, arguments: { topic: "review" } } ] }
      - when: { agent: reviewer, tool: desk__note }
        reply: { text: "it is fine ({{result.noted}})" }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: planner }
spec:
  modelConfig: { modelRef: Model/script }
  prompt: { system: "You plan." }
  tools: [ Tool/desk, Tool/archive, Tool/lab, { ref: { kind: Tool, name: agents, package: "@goondan/base" } } ]
  allowedInternalTools: [fork_join]
  delegationPolicy: { targetProfiles: [researcher] }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: researcher }
spec: { modelConfig: { modelRef: Model/script }, tools: [ Tool/lab, Tool/archive ] }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: reviewer }
spec: { modelConfig: { modelRef: Model/script }, tools: [ Tool/desk ] }
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec: { entryAgent: Agent/planner, agents: [ Agent/planner, Agent/researcher, Agent/reviewer ] }
---
${TOOL("desk", "inline", "note")}---
${TOOL("lab", "isolated", "measure")}---
${TOOL("archive", "service", "find").replace("placement: service", "placement: service\n  target: archive")}`;

export const SWARM_FILES: Readonly<Record<string, string>> = {
  "tessera.yaml": YAML,
  "desk.ts": "export const handlers = { note: (_ctx, input) => ({ noted: input.topic }) };\n",
  "lab.ts": "export const handlers = { measure: (_ctx, input) => ({ length: input.topic.length }) };\n",
  "archive.ts": "export const handlers = { find: (_ctx, input) => ({ found: 'a book about ' + input.topic }) };\n",
};
