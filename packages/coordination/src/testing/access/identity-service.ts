import { rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';

export interface AskedOfIdentity {
  readonly path: string;
  readonly authorization: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the tests check what is sent
  readonly body: any;
}

/** The response of identity; undefined: it never responds. */
export type IdentityAnswer = { readonly status: number; readonly body?: unknown } | undefined;

/** Identity as the source of administration tokens. */
export interface IdentityService {
  readonly env: Readonly<Record<string, string>>;
  readonly credentialFile: string;
  readonly credential: string;
  readonly asked: AskedOfIdentity[];
  /** Replaces the usual responses. */
  answer(by: ((asked: AskedOfIdentity) => IdentityAnswer | Promise<IdentityAnswer>) | undefined): void;
  close(): Promise<void>;
}

export async function startIdentityService(): Promise<IdentityService> {
  const credential = `service-credential-${newId()}`;
  keepSecret('service credential', credential);
  const credentialFile = join(tmpdir(), `baton-delegation-${newId()}`);
  await writeFile(credentialFile, `${credential}\n`, { mode: 0o600 });
  const asked: AskedOfIdentity[] = [];
  let by: Parameters<IdentityService['answer']>[0];
  const server = createServer(async (req, res) => {
    const one = { path: req.url ?? '', authorization: req.headers.authorization, body: await bodyOf(req) };
    asked.push(one);
    const answer = await (by ?? usualAnswer)(one);
    if (answer === undefined) return;
    res.writeHead(answer.status, { 'content-type': 'application/json' });
    res.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/iam`;
  return {
    env: { CP_IAM_BASE_URL: url, CP_IDENTITY_ADMIN_CREDENTIAL_FILE: credentialFile },
    credentialFile,
    credential,
    asked,
    answer(next) {
      by = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await rm(credentialFile, { force: true });
    },
  };
}

export function usualAnswer({ path }: AskedOfIdentity): IdentityAnswer {
  if (path.endsWith(':revoke')) return { status: 204 };
  const token = `iam_adm_${newId().replaceAll('-', '').slice(-12)}_${newId()}${newId()}`;
  keepSecret('administration token', token);
  return {
    status: 201,
    body: { id: newId(), token, expiresAt: new Date(Date.now() + 200_000).toISOString() },
  };
}

async function bodyOf(req: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text === '' ? undefined : JSON.parse(text);
}
