import { once } from 'node:events';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** Serves the files of a built site to this machine only. @param port 0 for a free one */
export async function serveSite(folder: string, port: number): Promise<{ address: string; server: Server }> {
  const server = createServer((request, response) => sendFile(folder, request, response));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

function sendFile(folder: string, { method, url = '/' }: IncomingMessage, response: ServerResponse): void {
  if (method !== 'GET' && method !== 'HEAD')
    return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
  // Normalized from the root, so that no path can leave the folder.
  const path = normalize(`/${decoded(url.replace(/[?#].*$/s, ''))}`);
  const isFolder = isDirectory(join(folder, path));
  // Links of a page are relative to its folder, so the address must end in a slash.
  if (isFolder && !path.endsWith('/'))
    return void response.writeHead(301, { location: encodeURI(`${path}/`) }).end();
  const file = join(folder, path, isFolder ? 'index.html' : '');
  const isFound = existsSync(file);
  const shown = isFound ? file : join(folder, '404.html');
  const type = types[extname(shown)] ?? 'application/octet-stream';
  response.writeHead(isFound ? 200 : 404, { 'content-type': type });
  if (method === 'HEAD') return void response.end();
  createReadStream(shown)
    .on('error', () => response.destroy())
    .pipe(response);
}

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname).replaceAll('\0', '');
  } catch {
    return pathname;
  }
}
