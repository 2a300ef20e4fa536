import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

interface Page {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly type: string;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/**
 * Allows scripts and styles from the console's own files only, no framing, and nothing from other hosts. Styles that
 * scripts set through the DOM need no exception. Images of artifacts are loaded from blobs; an image can't run scripts.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Sent with every response of the console. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** The built files of the console by path, loaded once. */
export class Files {
  readonly #pages = new Map<string, Page>();

  /** @param folder the output of the build */
  constructor(folder: string) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      const type = types[extname(path)] ?? 'application/octet-stream';
      this.#pages.set(`/${relative(folder, path).split(sep).join('/')}`, {
        bytes,
        gzipped: gzipSync(bytes, { level: 9 }),
        type,
      });
    }
  }

  has(path: string): boolean {
    return this.#pages.has(path);
  }

  /**
   * File names below /assets contain a content hash, so browsers can cache them forever. The page itself is never
   * cached.
   */
  send(req: IncomingMessage, res: ServerResponse, path: string): void {
    const page = this.#pages.get(path);
    if (page === undefined) throw new Error(`the console has no file ${path}`);
    const isGzip = /\bgzip\b/.test(String(req.headers['accept-encoding'] ?? ''));
    const body = isGzip ? page.gzipped : page.bytes;
    res.writeHead(200, {
      ...securityHeaders,
      'content-type': page.type,
      'content-length': body.length,
      'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-store',
      vary: 'accept-encoding',
      ...(isGzip && { 'content-encoding': 'gzip' }),
    });
    res.end(req.method === 'HEAD' ? undefined : body);
  }
}
