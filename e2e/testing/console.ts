import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { keepLog } from '@baton/kernel/testing/leaks';
import { type BatonClient, createClient } from '@baton/sdk';
import { program } from '@baton/testing/baton-process';
import { admit, allScopes, type Participant } from '@baton/testing/participant';
import { openPage, startBrowser, type Watched } from './browser.ts';

/** A Baton that `npm start` has started, with its console built, and a browser. */
export interface RunningConsole {
  readonly url: string;
  /** Its folder. */
  readonly home: string;
  readonly browser: Browser;
  /** The administrator's. */
  readonly adminToken: string;
  /** Of identity's administration. */
  readonly adminSecret: string;
  readonly tenantId: string;
  /** Of coordination's database, for what no endpoint makes in a test's time. */
  readonly databaseUrl: string;
  /** As the administrator. */
  readonly baton: BatonClient;
  /** The administrator's principal. */
  readonly me: string;
  /** The address that signs in once, as the start has printed it. */
  readonly printedAddress: string;
  /** A person with these permissions and a token. */
  person(permissions: readonly string[]): Promise<Participant>;
  /** All that Baton has printed so far. */
  output(): string;
  /** @returns a code that signs in the owner of this token; the administrator without it */
  newCode(token?: string): Promise<string>;
  /** A browser of its own that is signed in, at this path. */
  signedIn(path?: string, options?: BrowserContextOptions, token?: string): Promise<Watched>;
  /** An agent of this name that is admitted, with these rights and a token of its own. */
  participant(
    displayName: string,
    permissions: readonly string[],
  ): Promise<{ readonly id: string; readonly token: string; readonly baton: BatonClient }>;
  close(): Promise<void>;
}

/** @param env settings besides the folder and the port */
export async function startConsole(env: Readonly<Record<string, string>> = {}): Promise<RunningConsole> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-console-'));
  const running = program('packages/platform/src/start.main.ts', [], {
    BATON_HOME: folder,
    PORT: '0',
    ...env,
  });
  let browser: Browser | undefined;
  async function close() {
    await browser?.close();
    running.child.kill('SIGINT');
    await running.ended;
    // The address that signs in is no secret any more: its code was used, or is older than a minute.
    keepLog(running.output());
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    const [printedAddress] = await running.prints(/http:\S+\/sign-in#code=\S+/);
    const connection = JSON.parse(readFileSync(join(folder, 'connection.json'), 'utf8'));
    const { publicUrl: url, adminToken, iamBootstrapToken: adminSecret, tenantId, issuer } = connection;
    const clientOf = (token: string) => createClient({ url, credential: { token }, adminSecret });
    const baton = clientOf(adminToken);
    const me = (await baton.harness.getContext()).principal.id;
    await untilBuilt(url);
    const started = (browser = await startBrowser());
    const newCode = (token = adminToken) => codeOf(url, token);
    return {
      url,
      home: folder,
      browser,
      adminToken,
      adminSecret,
      tenantId,
      databaseUrl: connection.cpDatabaseUrl,
      baton,
      me,
      printedAddress,
      person: (permissions) =>
        admit({ admin: baton, tenantId, issuer }, clientOf, {
          permissions,
          kind: 'human',
          scopes: allScopes,
        }),
      output: () => running.output(),
      newCode,
      async signedIn(path = '/', options = {}, token = adminToken) {
        const watched = await openPage(started, options);
        const next = path === '/' ? '' : `?next=${encodeURIComponent(path)}`;
        await watched.page.goto(`${url}/sign-in${next}#code=${await newCode(token)}`);
        await watched.page.getByRole('navigation', { name: 'Pages' }).waitFor();
        return watched;
      },
      async participant(displayName, permissions) {
        const kind = 'agent';
        const { identity } = createClient({ url, adminSecret });
        const { id: iamPrincipalId } = await identity.principals.create(tenantId, { kind, displayName });
        const { token } = await identity.principals.createToken(tenantId, iamPrincipalId, {
          name: 'test',
          audiences: ['control-plane'],
          scopeCeiling: ['control-plane:read', 'control-plane:write'],
        });
        assert.ok(token);
        const { id } = await baton.principals.create({ kind, displayName });
        await baton.principals.createIamBinding(id, {
          issuer,
          iamTenantId: tenantId,
          iamPrincipalId,
          permissions: [...permissions],
        });
        return { id, token, baton: createClient({ url, credential: { token } }) };
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function codeOf(url: string, token: string): Promise<string> {
  const answer = await fetch(`${url}/console/codes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return ((await answer.json()) as { code: string }).code;
}

/** The console is built in the background; its pages answer 503 until then. */
async function untilBuilt(url: string): Promise<void> {
  for (let n = 0; n < 120; n += 1) {
    if ((await fetch(url, { method: 'HEAD' })).status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.fail('the console was not built within a minute');
}
