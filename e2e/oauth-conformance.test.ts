// The authorization server passes the scenarios of the protocol's conformance suite, and the protocol's inspector signs
// in through a browser.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { createClient } from '@baton/sdk';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { noBrowser, openPage, sharedBrowser, untilTrue, type Watched } from './testing/browser.ts';
import { clientsFolder, withoutClients } from './testing/client-libraries.ts';
import { allowByPasskey } from './testing/oauth-client.ts';
import { addAuthenticator, createPasskeyByLink, invitePerson } from './testing/passkeys.ts';

const suite = '@modelcontextprotocol/conformance';
const withoutSuite = noBrowser || withoutClients(suite);

/** The inspector's program, found in the same way as in packages/mcp/src/docs.test.ts. */
const inspector = join(
  process.env.MCP_INSPECTOR ?? '/nowhere',
  'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);
const withoutInspector =
  noBrowser ||
  (!existsSync(inspector) && 'MCP_INSPECTOR names no folder that holds @modelcontextprotocol/inspector');

let baton: RunningBaton;
let person: Watched;
let folder: string;
const programs = new Set<ChildProcess>();

before(async () => {
  if (withoutSuite !== false && withoutInspector !== false) return;
  folder = mkdtempSync(join(tmpdir(), 'baton-conformance-'));
  baton = await startRunningBaton();
  const { tenantId, issuer, iamBootstrapToken: adminSecret } = baton.connection;
  const world = { baton: baton.admin, tenantId, issuer, url: baton.url, adminSecret };
  const { secret } = await invitePerson(world, 'Maria Lopez');
  person = await openPage(await sharedBrowser.take());
  await addAuthenticator(person.page);
  await createPasskeyByLink(person.page, baton.url, secret);
});
afterEach(() => {
  for (const program of programs) program.kill('SIGKILL');
  programs.clear();
});
after(async () => {
  await person?.page.context().close();
  if (person !== undefined) await sharedBrowser.giveBack();
  await baton?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

interface Program {
  readonly child: ChildProcess;
  readonly output: () => string;
}

/** A program that ends by itself, or is ended after the test. */
function run(...words: readonly string[]): Program {
  // Without a terminal, the inspector starts a sign-in only with this setting. With an empty folder as PATH, it finds
  // no browser to open.
  const env = { PATH: folder, HOME: folder, NO_COLOR: '1', MCP_AUTO_OPEN_ENABLED: 'true' };
  const child = spawn(process.execPath, words, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  programs.add(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      printed += String(data);
    });
  return { child, output: () => printed };
}

/**
 * The person opens the address that the program prints, and allows the access. @returns the status with which the
 * program ended
 */
async function letIn({ child, output }: Program): Promise<number | null> {
  const ended = once(child, 'exit');
  const address = /http:\S+\/oauth2\/authorize\?\S+(?=\s)/;
  await untilTrue(() => address.test(output()) || child.exitCode !== null, output);
  await person.page.goto(String(address.exec(output()) ?? assert.fail(output())));
  await allowByPasskey(person.page);
  const [status] = (await ended) as [number | null];
  return status;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function registerClient(name: string, redirectUri: string): Promise<string> {
  const { tenantId, iamBootstrapToken: adminSecret } = baton.connection;
  const { identity } = createClient({ url: baton.url, adminSecret });
  const { clientId } = await identity.oauthClients.register(tenantId, { name, redirectUris: [redirectUri] });
  return clientId;
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

describe("the protocol's conformance suite", { skip: withoutSuite }, () => {
  const program = () => join(clientsFolder, 'node_modules', suite, 'dist/index.js');

  async function listScenarios(): Promise<string[]> {
    const { child, output } = run(program(), 'list', '--authorization');
    await once(child, 'exit');
    return [...output().matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
  }

  /** The result of each check of all scenarios. */
  function checksIn(results: string): string[] {
    const files = globSync('*/checks.json', { cwd: results }).map((file) => join(results, file));
    const checks = files.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Check[]);
    return checks
      .map(({ id, status, errorMessage = '' }) => `${id}: ${status} ${errorMessage}`.trim())
      .sort();
  }

  test('passes each scenario for authorization servers, without a warning', async () => {
    const port = await freePort();
    const clientId = await registerClient('Conformance', `http://127.0.0.1:${port}/callback`);
    const options = { '--url': baton.connection.issuer, '--client-id': clientId, '--port': String(port) };
    const results = join(folder, 'results');
    const all = { ...options, '--resource': `${baton.url}/mcp`, '--output-dir': results };
    const suiteRun = run(program(), 'authorization', ...Object.entries(all).flat());
    const status = await letIn(suiteRun);
    assert.equal(status, 0, suiteRun.output());
    const scenarios = await listScenarios();
    assert.deepEqual(scenarios, ['authorization-server-metadata-endpoint', 'authorization-code-grant']);
    // The suite ends with status 0 even if a check is skipped or only warns.
    assert.deepEqual(checksIn(results), [
      'authorization-code-grant: SUCCESS',
      'authorization-server-metadata-cimd: SUCCESS',
      'authorization-server-metadata: SUCCESS',
    ]);
    assert.deepEqual(person.complaints, []);
  });
});

describe("the protocol's inspector", { skip: withoutInspector }, () => {
  test('signs in by browser and lists the tools', async () => {
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    const clientId = await registerClient('Inspector', callback);
    const target = [`${baton.url}/mcp`, '--transport', 'http', '--method', 'tools/list'];
    const words = [...target, '--client-id', clientId, '--callback-url', callback];
    const inspectorRun = run(inspector, '--cli', ...words);
    const status = await letIn(inspectorRun);
    assert.equal(status, 0, inspectorRun.output());
    assert.match(inspectorRun.output(), /"work_next"/);
  });
});
