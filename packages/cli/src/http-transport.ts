import http from 'node:http';
import https from 'node:https';
import type { RawAnswer, Transport } from '@baton/sdk';
import { PlainError } from './plain-error.ts';

/** Requests over connections that stay open; `close` ends them. */
export interface HttpTransport {
  readonly send: Transport;
  close(): void;
}

const connectionsMax = 64;
const responseCharactersMax = 64 * 1024 * 1024;

/**
 * The SDK's transport over node:http, because fetch took 180 µs of processor time per call and this takes 65, and the demo
 * shares the machine with the services. It sends texts only; what streams goes by fetch.
 */
export function httpTransport(): HttpTransport {
  const agents = {
    'http:': new http.Agent({ keepAlive: true, maxSockets: connectionsMax, scheduling: 'fifo' }),
    'https:': new https.Agent({ keepAlive: true, maxSockets: connectionsMax, scheduling: 'fifo' }),
  };
  return {
    send: ({ method, url, headers, body, signal }) =>
      new Promise<RawAnswer>((resolve, reject) => {
        if (body !== undefined && typeof body !== 'string')
          return reject(new TypeError('this transport sends texts only'));
        const isSecure = url.startsWith('https:');
        const request = (isSecure ? https : http).request(
          url,
          {
            method,
            agent: agents[isSecure ? 'https:' : 'http:'],
            headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
            signal,
          },
          (response) => void readResponse(response).then(resolve, reject),
        );
        request.on('error', reject);
        request.end(body);
      }),
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Reads by events, because async iteration over the stream costs a third more. */
function readResponse(response: http.IncomingMessage): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > responseCharactersMax) response.destroy(new PlainError('The response is too large.'));
    });
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: { get: (name) => response.headers[name.toLowerCase()]?.toString() ?? null },
        body: null,
        text: () => Promise.resolve(text),
        arrayBuffer: () => Promise.resolve(new TextEncoder().encode(text).buffer),
      }),
    );
    response.on('error', reject);
  });
}
