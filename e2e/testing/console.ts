import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { permissionNames } from '@baton/coordination/service/permissions';
import { createPool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createProgramDatabase } from '@baton/kernel/testing/database/database';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { type BatonClient, createClient } from '@baton/sdk';
import { program } from '@baton/testing/baton-process';
import { admit, allScopes, type Participant } from '@baton/testing/participant';
import { newId } from '@baton/values/ids';
import { closePages, openPage, sharedBrowser, untilTrue, type Watched } from './browser.ts';
import { Shared } from './shared.ts';

/** A tenant of a Baton that runs the program of `npm start`, with the built console and a browser. */
export interface RunningConsole {
  readonly url: string;
  readonly browser: Browser;
  /** The administrator's token. */
  readonly adminToken: string;
  /** The secret of identity's administration. */
  readonly adminSecret: string;
  readonly tenantId: string;
  readonly issuer: string;
  /** The address of coordination's database, for data that no endpoint can create fast enough for a test. */
  readonly databaseUrl: string;
  /** A client as the administrator. */
  readonly baton: BatonClient;
  /** The administrator's principal. */
  readonly me: string;
  /** A person with these permissions and a token. */
  person(permissions: readonly string[]): Promise<Participant>;
  /** Baton's output so far. */
  output(): string;
  /** @returns a code that signs in the owner of this token, or by default the administrator */
  newCode(token?: string): Promise<string>;
  /** Signs in with a new browser context and opens the page at this path. */
  signedIn(path?: string, options?: BrowserContextOptions, token?: string): Promise<Watched>;
  /** Creates an admitted agent with this name, these permissions and its own token. */
  participant(
    displayName: string,
    permissions: readonly string[],
  ): Promise<{ readonly id: string; readonly token: string; readonly baton: BatonClient }>;
  /** Closes the open pages. Call it after each test. */
  closePages(): Promise<void>;
  close(): Promise<void>;
}

/** A console with a Baton of its own. */
export interface OwnConsole extends RunningConsole {
  /** Baton's home folder. */
  readonly home: string;
  /** The one-time sign-in address that the start printed. */
  readonly printedAddress: string;
}

export interface StartedBaton {
  readonly url: string;
  readonly home: string;
  readonly adminToken: string;
  readonly adminSecret: string;
  readonly tenantId: string;
  readonly issuer: string;
  readonly databaseUrl: string;
  readonly printedAddress: string;
  output(): string;
  stop(): Promise<void>;
}

interface Administrator {
  readonly tenantId: string;
  readonly token: string;
}

const audience = 'control-plane';
const adminScopes = [...allScopes, 'control-plane:admin'];

/**
 * Creates a tenant in the Baton that the test files of this process share. A Baton's first start creates its only
 * tenant. This tenant has the same objects, and tenant isolation hides the others from it.
 */
export async function startConsole(): Promise<RunningConsole> {
  const baton = await sharedBaton.take();
  try {
    return await consoleOf(baton, await newTenant(baton), () => sharedBaton.giveBack());
  } catch (error) {
    await sharedBaton.giveBack();
    throw error;
  }
}

/**
 * Starts a Baton of its own, for tests that configure it or read output that only its start prints.
 * @param env settings besides the folder, the port and the databases
 */
export async function startOwnConsole(env: Readonly<Record<string, string>> = {}): Promise<OwnConsole> {
  const baton = await startBaton(env);
  const { home, printedAddress, tenantId, adminToken: token } = baton;
  try {
    const world = await consoleOf(baton, { tenantId, token }, baton.stop);
    return { ...world, home, printedAddress };
  } catch (error) {
    await baton.stop();
    throw error;
  }
}

const sharedBaton = new Shared(
  () => startBaton({}),
  (baton) => baton.stop(),
);

/**
 * Starts a Baton on databases of the tests' cluster: initdb and the migrations would take longer than the rest of the
 * start.
 */
export async function startBaton(env: Readonly<Record<string, string>>): Promise<StartedBaton> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-console-'));
  const databaseOf = (service: string) =>
    createProgramDatabase(join(import.meta.dirname, '../../packages', service, 'migrations'));
  const [identity, coordination] = await Promise.all([databaseOf('identity'), databaseOf('coordination')]);
  const running = program('packages/platform/src/start.main.ts', [], {
    BATON_HOME: folder,
    PORT: '0',
    IAM_DATABASE_URL: identity.url,
    CP_DATABASE_URL: coordination.url,
    ...env,
  });
  async function stop() {
    running.child.kill('SIGINT');
    await running.ended;
    // The output may be kept from now on: the code of its sign-in address has been used or is older than a minute.
    keepLog(running.output());
    await Promise.all([identity.drop(), coordination.drop()]);
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    const [printedAddress] = await running.prints(/http:\S+\/sign-in#code=\S+/);
    const connection = JSON.parse(readFileSync(join(folder, 'connection.json'), 'utf8'));
    const { publicUrl: url, adminToken, iamBootstrapToken: adminSecret, tenantId, issuer } = connection;
    // Baton builds the console in the background, and its pages return 503 until then.
    await untilTrue(
      async () => (await fetch(url, { method: 'HEAD' })).status === 200,
      'the console was not built within a minute',
    );
    return {
      url,
      home: folder,
      adminToken,
      adminSecret,
      tenantId,
      issuer,
      databaseUrl: connection.cpDatabaseUrl,
      printedAddress,
      output: running.output,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Creates the same objects as a Baton's first start: a tenant with audiences and an administrator, in both services.
 */
async function newTenant({ url, adminSecret, issuer, databaseUrl }: StartedBaton): Promise<Administrator> {
  const { identity } = createClient({ url, adminSecret });
  const [tenantId, displayName] = [newId(), 'Administrator'];
  const slug = `console-${tenantId.slice(-12)}`;
  await identity.tenants.create({ id: tenantId, slug, name: 'Baton' });
  await identity.audiences.create(tenantId, { key: audience, allowedScopes: adminScopes });
  await identity.audiences.create(tenantId, { key: 'iam-scim', allowedScopes: ['scim:write'] });
  const { id: iamPrincipalId } = await identity.principals.create(tenantId, { kind: 'human', displayName });
  await identity.principals.recordAuthenticationContext(tenantId, iamPrincipalId, { issuer, amr: ['local'] });
  const { token } = await identity.principals.createToken(tenantId, iamPrincipalId, {
    name: 'baton start',
    audiences: [audience],
    scopeCeiling: adminScopes,
    expiresInSeconds: 86_400,
  });
  assert.ok(token);
  // Coordination has no endpoint that creates a second tenant.
  const pool = createPool({
    url: databaseUrl,
    connectionsMax: 1,
    applicationName: 'test',
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 60_000,
    idleInTransactionTimeoutMs: 60_000,
    onError: () => undefined,
  });
  try {
    const founding = { tenantId, tenantSlug: slug, tenantName: 'Baton', adminDisplayName: displayName };
    const { adminPrincipalId } = await foundTenant(pool, founding);
    await pool.run(sql`
      insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
      values (${newId()}, ${tenantId}, ${adminPrincipalId}, ${issuer}, ${tenantId}, ${iamPrincipalId},
        ${permissionNames.toSorted()})`);
  } finally {
    await pool.close();
  }
  return { tenantId, token };
}

/** @param giveBack releases the Baton */
async function consoleOf(
  { url, adminSecret, issuer, databaseUrl, output }: StartedBaton,
  { tenantId, token: adminToken }: Administrator,
  giveBack: () => Promise<void>,
): Promise<RunningConsole> {
  const clientOf = (token: string) => createClient({ url, credential: { token }, adminSecret });
  const baton = clientOf(adminToken);
  const me = (await baton.harness.getContext()).principal.id;
  const browser = await sharedBrowser.take();
  const newCode = (token = adminToken) => codeOf(url, token);
  return {
    url,
    browser,
    adminToken,
    adminSecret,
    tenantId,
    issuer,
    databaseUrl,
    baton,
    me,
    person: (permissions) =>
      admit({ admin: baton, tenantId, issuer }, clientOf, {
        permissions,
        kind: 'human',
        scopes: allScopes,
      }),
    output,
    newCode,
    async signedIn(path = '/', options = {}, token = adminToken) {
      const watched = await openPage(browser, options);
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
        audiences: [audience],
        scopeCeiling: allScopes,
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
    closePages: () => closePages(browser),
    async close() {
      await closePages(browser);
      await sharedBrowser.giveBack();
      await giveBack();
    },
  };
}

async function codeOf(url: string, token: string): Promise<string> {
  const answer = await fetch(`${url}/console/codes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return ((await answer.json()) as { code: string }).code;
}
