// A conversation with the official Node SDK, each turn whole and streamed. Prints one JSON object:
// the turns, and every request that was made (so that a retry shows).
import Cerebras, { AuthenticationError, UnprocessableEntityError } from '@cerebras/cerebras_cloud_sdk';

const requests = [];
async function watched(url, init) {
  const response = await fetch(url, init);
  requests.push({ path: new URL(url).pathname, status: response.status });
  return response;
}

const client = new Cerebras({ fetch: watched });

function put(calls, fragments) {
  for (const { index, id, function: { name, arguments: part } } of fragments ?? []) {
    calls[index] ??= { id, name, arguments: '' };
    calls[index].arguments += part ?? '';
  }
}

async function turn(body) {
  const whole = await client.chat.completions.create(body);
  const streamed = { content: '', reasoning: '', calls: [], finish_reason: null, usage: null };
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
    const [choice] = chunk.choices;
    streamed.content += choice.delta.content ?? '';
    streamed.reasoning += choice.delta.reasoning ?? '';
    put(streamed.calls, choice.delta.tool_calls);
    streamed.finish_reason = choice.finish_reason ?? streamed.finish_reason;
    streamed.usage = chunk.usage ?? streamed.usage;
  }
  return { whole, streamed };
}

async function text(body) {
  const whole = await client.completions.create(body);
  let streamed = '';
  for await (const chunk of await client.completions.create({ ...body, stream: true })) {
    streamed += chunk.choices[0].text ?? '';
  }
  return { whole: whole.choices[0].text, streamed };
}

async function refused(create) {
  try {
    await create();
    return null;
  } catch (error) {
    return {
      authentication: error instanceof AuthenticationError,
      unprocessable: error instanceof UnprocessableEntityError,
      status: error.status,
    };
  }
}

const { chat, tools, image, completion } = JSON.parse(process.argv[2]);
const turns = [];
const messages = [];
for (const content of chat.questions) {
  messages.push({ role: 'user', content });
  const answer = await turn({ model: chat.model, messages });
  turns.push(answer);
  messages.push(answer.whole.choices[0].message);
}
const called = await turn(tools);
const [call] = called.whole.choices[0].message.tool_calls;
const followed = await turn({
  ...tools,
  messages: [
    ...tools.messages,
    called.whole.choices[0].message,
    { role: 'tool', tool_call_id: call.id, content: '{"temperature": 54}' },
  ],
});
const seen = await turn(image);
const told = await text(completion);
const models = await client.models.list();
const made = [...requests];
const errors = {
  invalid: await refused(() => client.chat.completions.create({ ...tools, temperature: 7 })),
};
const sorted = { turns, called, followed, seen, told, models, made, errors };
process.stdout.write(JSON.stringify(sorted));
