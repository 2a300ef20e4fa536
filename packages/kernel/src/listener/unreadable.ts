import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { newTraceHex } from '@baton/values/ids';
import { InvalidRequest, type RenderError } from '../http/refusal.ts';

/**
 * A listener of a server's `clientError`: receives the input that could not be parsed as a request, and its connection.
 */
export type UnreadableHandler = (error: NodeJS.ErrnoException, socket: Duplex) => void;

const messageOf: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time',
};

/** The same status for every service, whatever it returns for invalid input: this request could not even be read. */
const status = 400;

/**
 * Responds to input that the HTTP parser rejects (headers that are too large, no HTTP at all) with 400 in the service's
 * usual envelope, and closes the connection. The response doesn't repeat the input.
 */
export function answerUnreadable(render: RenderError): UnreadableHandler {
  return (error, socket) => {
    // A second response can't be sent after part of the first one.
    const { _httpMessage: answering } = socket as Duplex & { _httpMessage?: ServerResponse | null };
    if (!socket.writable || error.code === 'ECONNRESET' || answering?.headersSent === true) {
      socket.destroy();
      return;
    }
    // Browsers open connections ahead of their requests, and would take a response on such a connection for the
    // response to the next request.
    const isUnused = (socket as Duplex & { bytesRead?: number }).bytesRead === 0;
    if (isUnused && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return void socket.destroy();
    const requestId = `req_${newTraceHex()}`;
    const message = messageOf[error.code ?? ''] ?? 'The request is not valid HTTP';
    const problem = { in: 'header', path: [], type: 'unreadable', message } as const;
    const { body } = render(new InvalidRequest([problem]), requestId);
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
