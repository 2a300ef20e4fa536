import type { IncomingMessage, ServerResponse } from 'node:http';

/** Whether to respond with a page: browsers accept HTML explicitly, programs don't. */
export function wantsPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');
}

/** Sends a page with a heading and a paragraph. */
export function sendPage(
  req: Pick<IncomingMessage, 'method'>,
  res: ServerResponse,
  page: { readonly status: number; readonly title: string; readonly text: string },
  headers: Readonly<Record<string, string>> = {},
): void {
  const html = pageOf(page.title, page.text);
  res.writeHead(page.status, { ...pageHeaders, 'content-length': Buffer.byteLength(html), ...headers });
  res.end(req.method === 'HEAD' ? undefined : html);
}

/**
 * Replaces a service's 404 response by an HTML page. The service still counts and logs its own response; the page keeps
 * the request ID.
 * @param res the response that is passed to the service
 */
export function showUnknownPage(req: Pick<IncomingMessage, 'method'>, res: ServerResponse): void {
  const { writeHead, end } = res;
  const html = pageOf('Page not found', 'Check the URL. The page may have been removed.');
  let isReplaced = false;
  const replacement = {
    writeHead(status: number, ...rest: unknown[]): ServerResponse {
      isReplaced = status === 404;
      if (!isReplaced) return Reflect.apply(writeHead, res, [status, ...rest]);
      const { 'x-request-id': requestId } = {
        ...res.getHeaders(),
        ...(rest.at(-1) as Record<string, string>),
      };
      for (const name of res.getHeaderNames()) res.removeHeader(name);
      return writeHead.call(res, 404, {
        ...pageHeaders,
        'content-length': Buffer.byteLength(html),
        ...(requestId !== undefined && { 'x-request-id': requestId }),
      });
    },
    end(...parts: unknown[]): ServerResponse {
      // `end` writes a head if none has been written.
      if (!res.headersSent) replacement.writeHead(res.statusCode);
      const sent = req.method === 'HEAD' ? [] : [html];
      return Reflect.apply(end, res, isReplaced ? sent : parts);
    },
  };
  Object.assign(res, replacement);
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

function pageOf(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)} · Baton</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}</style>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
<p><a href="/">Console</a> · <a href="/docs">API</a></p>
</main>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
