import type { RawAnswer } from './call.ts';
import { BatonError } from './errors.ts';

/** More than any page that the services write: without a limit one answer could fill the memory. */
const answerBytesMax = 64 * 1024 * 1024;

/**
 * The text of an answer.
 * @throws BatonError `unreadable_answer` where it is larger than any that the services write
 */
export async function textOf(answer: RawAnswer): Promise<string> {
  const { body, headers } = answer;
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  if (announced > answerBytesMax) throw await tooLarge(answer);
  // Where the length is told, and is that of the text, it is the limit.
  const isTold = announced <= answerBytesMax && headers.get('content-encoding') === null;
  if (body === null || isTold) return answer.text();
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > answerBytesMax) {
      await reader.cancel().catch(() => undefined);
      throw await tooLarge(answer);
    }
    text += decoder.decode(value, { stream: true });
  }
}

async function tooLarge({ status, body }: RawAnswer): Promise<BatonError> {
  if (body?.locked === false) await body.cancel().catch(() => undefined);
  const message = `the answer is larger than ${answerBytesMax / 2 ** 20} MiB`;
  return new BatonError({ code: 'unreadable_answer', message, status });
}
