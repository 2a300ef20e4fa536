import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJsonList, UnreadableList } from './json-list.ts';

const bounds = { itemCharactersMax: 90, restCharactersMax: 200 };

async function read(text: string, pieces = 1): Promise<{ rest: object; items: unknown[] }> {
  const items: unknown[] = [];
  async function* chunks() {
    for (let from = 0; from < text.length; from += pieces) yield text.slice(from, from + pieces);
  }
  const rest = await readJsonList(chunks(), 'results', bounds, (item) => void items.push(item));
  return { rest, items };
}

const documents = {
  'an empty list': { results: [] },
  'no list': { other: [1, 2], page: null },
  'items of every kind': {
    results: [1, 'two', null, [3, [4]], { five: { six: ['],[', '}'] } }],
    page: { next: 'x' },
  },
  'the list last': { page: { results: [1] }, results: [{ id: 'a' }, { id: 'b' }] },
  'texts that resemble the list': { text: ',"results":[', 'a,"results":': [7], results: ['\\"', '",'] },
};
for (const [what, document] of Object.entries(documents))
  test(`${what} is read as JSON has it, wherever the text is cut`, async () => {
    for (const text of [JSON.stringify(document), JSON.stringify(document, null, 1)])
      for (const pieces of [1, 2, 3, 7, 1000]) {
        const { results, ...rest } = document as { results?: unknown[] };
        const found = await read(text, pieces);
        assert.deepEqual(found.items, results ?? []);
        assert.deepEqual(found.rest, results === undefined ? rest : { ...document, results: [] });
      }
  });

test('what is no JSON object is refused', async () => {
  const wrong = [
    '',
    'null',
    '[1]',
    '{"results":[1,]}',
    '{"results":[,1]}',
    '{"results":[1}',
    '{"results":[1]',
    '{"results":[{"a":]}]}',
    '{"results":[1]}}',
    '<html>',
  ];
  for (const text of wrong)
    for (const pieces of [1, 1000]) await assert.rejects(read(text, pieces), UnreadableList, text);
});

test('an item, and what is around the list, has a bound; the list has none', async () => {
  await assert.rejects(read(`{"results":["${'x'.repeat(100)}"]}`), UnreadableList);
  await assert.rejects(read(`{"results":[],"more":"${'x'.repeat(300)}"}`), UnreadableList);
  await assert.rejects(read(`{"results":[${'['.repeat(500)}`, 1000), UnreadableList);
  assert.equal((await read(`{"results":[${'1,'.repeat(5000)}1]}`, 100)).items.length, 5001);
});
