import type { RawAnswer } from './call.ts';
import { BatonError } from './errors.ts';

/** Larger than any page of the services. Without a limit, one response could fill the memory. */
const answerBytesMax = 64 * 1024 * 1024;

/**
 * Reads the text of a response.
 * @throws BatonError `unreadable_answer` if it is larger than any response of the services
 */
export async function readText(answer: RawAnswer): Promise<string> {
  const { body, headers } = answer;
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  if (announced > answerBytesMax) throw await tooLarge(answer);
  // The length in the header is sufficient as a limit, unless it is the length of compressed text.
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
  const message = `the response is larger than ${answerBytesMax / 2 ** 20} MiB`;
  return new BatonError({ code: 'unreadable_answer', message, status });
}
