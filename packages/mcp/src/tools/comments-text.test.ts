import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batonInMemory } from '../testing/baton-in-memory.ts';
import { commentsText } from './comments-text.ts';

/** Returns the text for a task with this many comments, of which the first is the oldest. */
async function textOf(count: number): Promise<string> {
  const { baton } = batonInMemory({
    comments: ({ searchParams }) => {
      const [from, limit] = [Number(searchParams.get('cursor')), Number(searchParams.get('limit'))];
      const end = Math.min(from + limit, count);
      const items = Array.from({ length: end - from }, (_, n) => ({ body: `comment ${from + n + 1}.` }));
      return { items, nextCursor: end < count ? String(end) : null };
    },
  });
  return String(await commentsText(baton, 'task-1', new AbortController().signal));
}

test('of up to 2,000 comments the newest are shown, newest first', async () => {
  const text = await textOf(2_000);
  assert.match(text, /^There are 2000 comments; the 20 newest are shown\./);
  assert.match(text, /its latest comments, newest first.*comment 2000\..*comment 1981\./s);
  assert.doesNotMatch(text, /comment 1980\./);
});

test('of more comments, the agent is notified that the newest were not read', async () => {
  const text = await textOf(2_001);
  assert.match(
    text,
    /^There are more than 2000 comments\. The newest were not read: these 20 are the last of the first 2000\./,
  );
  assert.match(text, /comment 2000\./);
  assert.doesNotMatch(text, /comment 2001\.|its latest comments/);
});
