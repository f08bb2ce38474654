// Reads each request's stream once undisturbed and once by each delivery, with the SDK that the first
// argument names. Standard input has `{"asked": {name: body}, "deliveries": [name]}`; prints the chunks
// as the SDK gave them, by delivery ("" for none) and request, and what it raised, if it did.
import { readFileSync } from 'node:fs';

const { default: SDK } = await import(process.argv[2]);
const client = new SDK({ baseURL: process.argv[3], apiKey: 'a-key', maxRetries: 0 });
const { asked, deliveries } = JSON.parse(readFileSync(0, 'utf8'));

async function read(body, delivery) {
  const resource = 'prompt' in body ? client.completions : client.chat.completions;
  const headers = delivery ? { 'x-wafermock-delivery': delivery } : {};
  const chunks = [];
  try {
    for await (const chunk of await resource.create({ ...body, stream: true }, { headers })) {
      chunks.push(chunk);
    }
  } catch (error) {
    return { chunks, raised: `${error.constructor.name}: ${error.message}` };
  }
  return { chunks, raised: null };
}

const found = {};
for (const delivery of ['', ...deliveries]) {
  found[delivery] = {};
  for (const [name, body] of Object.entries(asked)) {
    found[delivery][name] = await read(body, delivery);
  }
}
process.stdout.write(JSON.stringify(found));
