import type { ServerResponse } from 'node:http';
import { BatonError } from '@baton/sdk';
import { securityHeaders } from './files.ts';
import { ConsoleRefusal } from './refusal.ts';

export function sendJson(
  res: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, {
    ...securityHeaders,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  });
  res.end(JSON.stringify(body));
}

/** Redirects to another page of the console, so that the browser keeps neither the callback's URL nor its response. */
export function redirect(res: ServerResponse, path: string, cookies: readonly string[]): void {
  res.writeHead(303, {
    ...securityHeaders,
    'cache-control': 'no-store',
    location: path,
    'set-cookie': [...cookies],
  });
  res.end();
}

/** Sends an error in the format of the services, so that the page's client parses it the same way. */
export function sendError(res: ServerResponse, error: unknown): void {
  const requestId = crypto.randomUUID();
  const { status, code, message } = toRefusal(error);
  sendJson(
    res,
    status,
    { error: { code, message, details: {}, requestId } },
    status === 413 ? { connection: 'close' } : {},
  );
}

export function toRefusal(error: unknown): { status: number; code: string; message: string } {
  if (error instanceof ConsoleRefusal) return error;
  if (error instanceof BatonError && error.status >= 400 && error.status < 500)
    return { status: error.status, code: error.code, message: error.message };
  return { status: 503, code: 'unavailable', message: 'Baton is temporarily unavailable. Try again.' };
}

/** Shown while the console is being built. The page reloads itself without a script. */
export function sendBuildStatus(res: ServerResponse, failure: string | undefined): void {
  const text =
    failure === undefined
      ? 'The console is being built. This takes a few seconds.'
      : 'The console could not be built. See the output of the Baton process for the error.';
  res.writeHead(503, {
    ...securityHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '2',
    ...(failure === undefined && { refresh: '2' }),
  });
  res.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Baton</title><p>${text}</p></html>`);
}
