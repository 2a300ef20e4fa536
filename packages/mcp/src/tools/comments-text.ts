import type { BatonClient } from '@baton/sdk';
import { listFromOthers } from '../others-text.ts';
import { lines } from '../tool.ts';

const shownMax = 20;
const pageMax = 200;
/**
 * The comments are read from the oldest on. If there are more than this, the newest are not read; the result states
 * this.
 */
const commentsReadMax = 2_000;

/**
 * Returns the newest comments of a task, newest first; undefined without comments. If there are more than 2,000
 * comments, only the first 2,000 are read, and the last of these are returned.
 * @throws BatonError; the signal's reason
 */
export async function commentsText(
  baton: BatonClient,
  taskId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const last: { createdAt: string; body: string }[] = [];
  let [read, isMore] = [0, false];
  for await (const { createdAt, body } of baton.tasks.listComments(taskId, { limit: pageMax }, { signal })) {
    isMore = read === commentsReadMax;
    if (isMore) break;
    last.unshift({ createdAt, body });
    if (last.length > shownMax) last.pop();
    read += 1;
  }
  if (read === 0) return undefined;
  if (isMore) {
    const { text, shown } = listFromOthers(`its comments up to comment ${read}, newest first`, last);
    return lines(
      `There are more than ${read} comments. The newest were not read: these ${shown} are the last of the first ${read}.`,
      text,
    );
  }
  const { text, shown } = listFromOthers('its latest comments, newest first', last);
  return lines(shown < read ? `There are ${read} comments; the ${shown} newest are shown.` : undefined, text);
}
