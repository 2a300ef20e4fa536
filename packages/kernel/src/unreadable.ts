import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { newTraceHex } from './ids.ts';
import { InvalidRequest, type RenderedError } from './refusal.ts';

/** What a server's `clientError` gives: a request that never became one, and the connection it came on. */
export type UnreadableHandler = (error: NodeJS.ErrnoException, socket: Duplex) => void;

const messageOf: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time',
};

/**
 * Answers what the HTTP parser refuses (headers that are too large, no HTTP at all) with the service's own envelope, 400,
 * and ends the connection. Nothing of what was sent is repeated.
 */
export function answerUnreadable(
  render: (error: unknown, requestId: string, path: string) => RenderedError,
): UnreadableHandler {
  return (error, socket) => {
    // An answer that is half out can't be followed by another one.
    const { _httpMessage: answering } = socket as Duplex & { _httpMessage?: ServerResponse | null };
    if (!socket.writable || error.code === 'ECONNRESET' || answering?.headersSent === true) {
      socket.destroy();
      return;
    }
    const requestId = `req_${newTraceHex()}`;
    const message = messageOf[error.code ?? ''] ?? 'The request is not valid HTTP';
    const problem = { in: 'header', path: [], type: 'unreadable', message } as const;
    const { status, body } = render(new InvalidRequest([problem]), requestId, '');
    const content = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(content)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${content}`);
  };
}
