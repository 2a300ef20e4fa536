import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createListener, openPort } from './listener.ts';

/** The port's response to a GET request for one path. */
export interface WatchAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The response for each path; `authorization` is the header as it was sent. */
export type WatchAnswers = Readonly<
  Record<string, (authorization: string | undefined) => WatchAnswer | Promise<WatchAnswer>>
>;

export interface WatchPort {
  /** The requested port, or a free one for 0. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Opens a port for operators only (metrics, health), so that no public route leads to them. It serves GET and HEAD
 * only; any other path returns 404, and a failure returns 500. @throws Error with one sentence that names the setting
 * if the port can't be opened
 */
export async function openWatchPort(
  answers: WatchAnswers,
  { host, port, setting }: { host: string; port: number; setting: string },
): Promise<WatchPort> {
  const server = createListener({
    handler: (req, res) => void answerTo(answers, req, res),
  });
  await openPort(server, host, port).catch((cause: Error) => {
    throw new Error(`${setting} ${port} cannot be used.`, { cause });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

async function answerTo(answers: WatchAnswers, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = req.url?.split('?', 1)[0] ?? '';
  const isRead = req.method === 'GET' || req.method === 'HEAD';
  // Excludes inherited properties, such as `constructor`.
  const answer = isRead && Object.hasOwn(answers, path) ? answers[path] : undefined;
  if (answer === undefined) {
    res.writeHead(404).end();
    return;
  }
  try {
    const { status, contentType, text, headers } = await answer(req.headers.authorization);
    res.writeHead(status, { ...headers, 'content-type': contentType }).end(text);
  } catch {
    res.writeHead(500).end();
  }
}
