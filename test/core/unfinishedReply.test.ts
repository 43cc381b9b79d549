/** What looks like a call or like a plan, and which honest answers look almost like one. */
import { assert, describe, it } from "@effect/vitest"
import { looksLike } from "../../packages/core/src/internal/agent/unfinishedReply.ts"

const tools = new Set(["get_weather", "get_order", "search", "write_file", "getTime"])

const args = "{\"city\": \"Paris\"}"
const hermes = `<tool_call>\n{"name": "get_weather", "arguments": ${args}}\n</tool_call>`

/** Texts of calls, by the models that write them. */
const calls: ReadonlyArray<readonly [who: string, text: string]> = [
  ["Hermes, Qwen", hermes],
  ["Hermes, two calls", `${hermes}\n${hermes}`],
  ["Hermes, after an announcement", `I'll check the weather for you.\n\n${hermes}`],
  ["Hermes, after a thought", `<think>\nI could use get_weather. For example so.\n</think>\n\n${hermes}`],
  [
    "Hermes, with an invented result",
    `${hermes}\n<tool_response>\n{"celsius": 18}\n</tool_response>\nIt is 18 °C in Paris.`
  ],
  ["Hermes, cut off", "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"ci"],
  ["Hermes, for a tool that is not on offer", "<tool_call>{\"name\": \"get_wether\", \"arguments\": {}}</tool_call>"],
  ["Hermes, in a fence", `\`\`\`xml\n${hermes}\n\`\`\``],
  [
    "Qwen3-Coder",
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>"
  ],
  [
    "Qwen3-Coder, without its first token",
    "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>"
  ],
  ["GLM", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"],
  ["Llama 3.1", `<function=get_weather>${args}</function>`],
  ["Llama 3, with its token", `<|python_tag|>{"name": "get_weather", "parameters": ${args}}<|eom_id|>`],
  ["Llama 3, with its token and Python", "<|python_tag|>get_weather.call(city=\"Paris\")"],
  ["Llama 3, JSON", `{"name": "get_weather", "parameters": ${args}}`],
  ["Llama 3, JSON with a type", `{"type": "function", "name": "get_weather", "parameters": ${args}}`],
  ["Llama 3, JSON and a token", `{"name": "get_weather", "parameters": ${args}}<|eot_id|>`],
  [
    "Llama 3, after its opener",
    `Here is the function call with its proper arguments:\n\n{"name": "get_weather", "parameters": ${args}}`
  ],
  ["Llama 4", "[get_weather(city='Paris'), get_weather(city='Rome')]"],
  ["Mistral", `[TOOL_CALLS] [{"name": "get_weather", "arguments": ${args}}]`],
  ["Mistral, newer", `[TOOL_CALLS]get_weather[ARGS]${args}`],
  ["Mistral, without its token", `get_weather${args}`],
  [
    "Anthropic's prompts",
    "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n</function_calls>"
  ],
  [
    "MiniMax",
    "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n</minimax:tool_call>"
  ],
  [
    "DeepSeek V3",
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n\`\`\`json\n${args}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`
  ],
  [
    "DeepSeek V3.1",
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>${args}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`
  ],
  [
    "DeepSeek V3.2",
    "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
  ],
  [
    "Kimi",
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>${args}<|tool_call_end|><|tool_calls_section_end|>`
  ],
  ["Kimi, without its tokens", `functions.get_weather:0${args}`],
  ["Granite", `<|tool_call|>[{"name": "get_weather", "arguments": ${args}}]`],
  ["Granite 20B", `<function_call> {"name": "get_weather", "arguments": ${args}}`],
  ["Jamba, Hunyuan", `<tool_calls>[{"name": "get_weather", "arguments": ${args}}]</tool_calls>`],
  ["Nemotron", `<TOOLCALL>[{"name": "get_weather", "arguments": ${args}}]</TOOLCALL>`],
  ["Phi", `functools[{"name": "get_weather", "arguments": ${args}}]`],
  ["LFM", "<|tool_call_start|>[get_weather(city=\"Paris\")]<|tool_call_end|>"],
  ["InternLM", `<|action_start|><|plugin|>{"name": "get_weather", "parameters": ${args}}<|action_end|>`],
  [
    "Cohere",
    `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": ${args}}]<|END_ACTION|>`
  ],
  ["Cohere, older", `Action: \`\`\`json\n[{"tool_name": "get_weather", "parameters": ${args}}]\n\`\`\``],
  ["Gemma", "```tool_code\nprint(default_api.get_weather(city=\"Paris\"))\n```"],
  ["FunctionGemma", "<start_function_call>call:get_weather{city:<escape>Paris<escape>}<end_function_call>"],
  ["gpt-oss", `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>${args}<|call|>`],
  ["gpt-oss, without its tokens", `commentary to=functions.get_weather json${args}`],
  ["LM Studio", `[TOOL_REQUEST]{"name": "get_weather", "arguments": ${args}}[END_TOOL_REQUEST]`],
  ["ReAct", "Action: get_weather\nAction Input: {\"city\": \"Paris\"}"],
  [
    "ReAct, with a thought and a plain input",
    "Thought: I should look up the weather.\nAction: get_weather\nAction Input: paris"
  ],
  [
    "ReAct, with an invented observation",
    "Thought: I need it.\nAction: get_weather\nAction Input: Paris\nObservation: 18 °C\nFinal Answer: It is 18 °C."
  ],
  ["LangChain", `\`\`\`json\n{"action": "get_weather", "action_input": "Paris"}\n\`\`\``],
  ["JSON in a fence", `\`\`\`json\n{"name": "get_weather", "arguments": ${args}}\n\`\`\``],
  [
    "JSON in a fence, with announcements",
    `I'll look up the weather in Paris.\n\n\`\`\`json\n{"name": "get_weather", "arguments": ${args}}\n\`\`\`\n\nOne moment, please.`
  ],
  ["JSON with input", `{"name": "get_weather", "input": ${args}}`],
  ["JSON with args", `{"name": "get_weather", "args": ${args}}`],
  ["JSON with tool", `{"tool": "get_weather", "args": ${args}}`],
  ["JSON with tool_name", `{"tool_name": "get_weather", "tool_input": ${args}}`],
  ["JSON with a function", `{"function": {"name": "get_weather", "arguments": ${args}}}`],
  ["JSON with a function's name", `{"function": "get_weather", "parameters": ${args}}`],
  [
    "JSON of Chat Completions",
    `{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}`
  ],
  ["JSON of a tool_use", `[{"type": "tool_use", "id": "toolu_01", "name": "get_weather", "input": ${args}}]`],
  ["JSON in parallel", `{"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": ${args}}]}`],
  ["JSON in another order", `{"arguments": ${args}, "name": "get_weather"}`],
  ["JSON with single quotes", "{'name': 'get_weather', 'arguments': {'city': 'Paris'}}"],
  [
    "JSON of a long argument",
    `{"name": "write_file", "arguments": {"text": "${"For example, use it. ".repeat(500)}"}}`
  ],
  ["JSON that lost a token", `{"name": "get_weather", "arguments": ${args}}\n</tool_call>`],
  ["Python alone", "get_weather(city=\"Paris\")"],
  ["Python without arguments", "getTime()"],
  ["Python in a fence", "Let me check the weather.\n```python\nget_weather(city=\"Paris\")\n```"],
  ["a label", `Tool call: get_weather ${args}`],
  ["a label in brackets", `[Calling tool get_weather with ${args}]`],
  ["a label in capitals", "TOOL_CALL: get_weather(city=\"Paris\")"]
]

/** Texts that only announce what comes next. */
const plans: ReadonlyArray<string> = [
  "The order is shipped. Now I will send the message to the customer.",
  "I'll look up the order now.",
  "Let me check the weather in Paris.",
  "First, I will search for the customer.",
  "One moment while I fetch that…",
  "I'm going to call get_order.",
  "I’ll check the weather in Paris for you.",
  "Let me look that up for you!",
  "Sure! Let me check that for you.",
  "Of course. I'll search the database for your order.",
  "Okay, let me find the details of order 4711.",
  "I'll use the get_weather tool to find the current weather in Paris.",
  "I will now call the `get_order` function.",
  "Let me search for that and then compare the results.",
  "To answer this, I need to check the current weather in Paris.",
  "To find the cheapest flight, I'll search the database.",
  "I'll check whether the order has shipped.",
  "Let me see if it is in stock.",
  "I'm going to retrieve your account details first.",
  "Please hold on while I look up your order.",
  "One moment, please.",
  "Just a moment.",
  "Let me check:",
  "**Let me check the weather.** 🔍",
  "Checking the weather in Paris…",
  "Searching for your order now.",
  "Thanks for the details. I'll look up your booking.",
  "First, I'll look up the customer. Then I'll check the orders.",
  "I'll go ahead and run a quick search.",
  "I'll process the refund now.",
  "I will cancel the order right away.",
  "I'll check the order status and let you know.",
  "Let me take a look at the file.",
  "Great question! Let me gather the numbers.",
  "I need to verify the price, the stock and the delivery time."
]

/** Honest answers. */
const answers: ReadonlyArray<string> = [
  "It is 18 °C in Paris.",
  "I'll be here if you need me.",
  "I'll let the team know.",
  "Let me know if you need more.",
  "Done. I'll check again tomorrow if you like?",
  "I will not do that.",
  "I'll remember that.",
  "Let me check: it is 18 °C in Paris.",
  "Let me check the weather in Paris. It is sunny.",
  "I'll look up the order now. What is its number?",
  "I'll look it up once you send me the number.",
  "I'll check again tomorrow.",
  "I'll check the order when it ships.",
  "I'll check every day.",
  "I'll check with the team and get back to you.",
  "I need to know your order number.",
  "I'll need your order number to look it up.",
  "I can check the weather in Paris.",
  "I'd like to help. Let me explain how it works.",
  "Let me explain: the order was cancelled.",
  "I'll look that up, but the capital of France is Paris.",
  "I'll look that up, the capital of France is Paris.",
  "I'll find the best price for you — 20 euros.",
  "I'll send the invoice to Ada.",
  "I've sent the invoice. I'll look into the rest.",
  "I'll call you Ada from now on.",
  "I'll use the information that you gave me.",
  "I'll run the tests whenever a change is pushed.",
  "I'll get back to you.",
  "I'll look forward to it.",
  "I'll keep an eye on it.",
  "I'll see what I can do.",
  "I could not find it, so I'll search elsewhere.",
  "Checking accounts are free of charge.",
  "Searching is disabled now because of maintenance.",
  "Yes.",
  "Okay.",
  "Sure!",
  "Of course. You are welcome.",
  "Thanks for the details.",
  "Let's be honest.",
  "Let's look at it from another angle.",
  "Ich schaue gleich nach.",
  "Je vais vérifier la météo à Paris.",
  `I'll look up the order now. ${"It has many parts. ".repeat(20)}`,
  // Beside calls
  `To call the tool, write:\n\n${hermes}`,
  `To call the tool, write:\n\n\`\`\`json\n{"name": "get_weather", "arguments": ${args}}\n\`\`\``,
  `For example:\n\n${hermes}`,
  `The call would look like this:\n\`\`\`json\n{"name": "get_weather", "arguments": ${args}}\n\`\`\``,
  `You can call it with {"name": "get_weather", "arguments": ${args}}.`,
  `I used this call:\n\n{"name": "get_weather", "arguments": ${args}}`,
  `\`\`\`json\n{"name": "get_weather", "arguments": ${args}}\n\`\`\`\n\nThis asks for the weather in Paris, in degrees.`,
  `${"Tools have names and arguments. ".repeat(20)}\n\n${hermes}`,
  `A code block:\n\n\`\`\`python\nget_weather(city="Paris")\n\`\`\`\n\n${
    "It returns the weather of a city. ".repeat(20)
  }`,
  "Qwen writes a call between <tool_call> and </tool_call>.",
  "The `<tool_call>` tag begins a call of get_weather.",
  "<tool_call> is the tag with which a call of get_weather begins.",
  "get_weather(city=\"Paris\") returns the weather in Paris.",
  "get_weather(city) takes the name of a city.",
  "- get_weather(city=\"Paris\")\n- get_order(id=\"7\")",
  "I called get_weather(city=\"Paris\"), and it failed.",
  "Calling get_weather with a city returns its weather.",
  "Action: none is needed.",
  "Use `get_weather` for that.",
  "[TOOL_CALLS] is the token of Mistral. It stands before get_weather.",
  // Data
  "{\"name\": \"Ada\", \"arguments\": [\"for\", \"against\"]}",
  "{\"name\": \"Paris\", \"parameters\": {\"celsius\": 18}}",
  "```json\n{\"name\": \"Ada\", \"input\": \"7\"}\n```",
  "{\"name\": \"get_weather\", \"description\": \"Tells the weather\", \"parameters\": {\"type\": \"object\"}}",
  "{\"name\": \"get_weather\", \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}",
  "[{\"name\": \"get_weather\"}, {\"name\": \"get_order\"}]",
  "{\"tool\": \"get_weather\", \"confidence\": 0.9}",
  "{\"city\": \"Paris\", \"celsius\": 18}",
  "{\"search\": {\"hits\": 3}}",
  "[1, 2, 3]",
  "print(\"Hello\")",
  "```python\nprint(len([1, 2]))\n```",
  "<answer>18 °C</answer>",
  "search: 3 results",
  "search {\"hits\": 3}",
  "search\n{\"hits\": 3}"
]

describe("what a reply without calls looks like", () => {
  it.each(calls)("a call: %s", (_, text) => {
    assert.strictEqual(looksLike(text, tools), "call_as_text")
    assert.strictEqual(looksLike(`\n ${text}\n`, tools), "call_as_text")
  })

  it.each(plans)("a plan: %s", (text) => {
    assert.strictEqual(looksLike(text, tools), "plan")
  })

  it.each(answers)("an answer: %s", (text) => {
    assert.isUndefined(looksLike(text, tools))
  })

  it("an answer, whatever it is, if no tools are on offer", () => {
    for (const text of [...calls.map(([, text]) => text), ...plans]) assert.isUndefined(looksLike(text, new Set()))
  })

  it("is found in a text of a megabyte as fast as in a short one", () => {
    const parts = [
      "{\"name\":",
      "<tool_call>",
      "[",
      " ",
      "\n",
      "to ",
      "to a, ",
      "I'll ",
      "please wait ",
      "`",
      "{\"args\":{",
      "}, ",
      "(",
      "Action: a\n",
      "*",
      "a",
      "「",
      "<think>",
      "then, "
    ]
    const short = performance.now()
    for (const part of parts) looksLike(part.repeat(2000 / part.length), tools)
    const long = performance.now()
    for (const part of parts) {
      for (const text of [part.repeat(1_000_000 / part.length), `x${part.repeat(1_000_000 / part.length)}x`]) {
        looksLike(text, tools)
      }
    }
    const end = performance.now()
    // 38 texts. The bound is loose, because the machine may be busy: a quadratic pattern would take minutes.
    assert.isBelow(end - long, 2000 + 20 * (long - short))
  })
})
