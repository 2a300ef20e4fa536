import type { BatonClient } from '@baton/sdk';
import { listFromOthers } from '../others-text.ts';
import { lines } from '../tool.ts';

const shownMax = 20;
const pageMax = 200;
/** Older ones are passed over: the list begins with the oldest, and what counts for an agent was said last. */
const commentsReadMax = 2_000;

/** What was said about a task last, newest first; undefined where nothing was. */
export async function commentsText(
  baton: BatonClient,
  taskId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const last: { createdAt: string; body: string }[] = [];
  let read = 0;
  for await (const { createdAt, body } of baton.tasks.listComments(taskId, { limit: pageMax }, { signal })) {
    last.unshift({ createdAt, body });
    if (last.length > shownMax) last.pop();
    read += 1;
    if (read >= commentsReadMax) break;
  }
  if (read === 0) return undefined;
  const { text, shown } = listFromOthers('what was said about it last, newest first', last);
  return lines(
    shown < read ? `There are ${read} comments or more; the ${shown} newest are shown.` : undefined,
    text,
  );
}
