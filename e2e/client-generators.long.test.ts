// Third-party client generators from npm read our API descriptions; their output compiles, and creates a task.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { repository } from '@baton/testing/baton-process';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { clientsFolder, loadClient, withoutClients } from './testing/client-libraries.ts';

let baton: RunningBaton;
let accessToken: string;
const folder = mkdtempSync(join(tmpdir(), 'baton-generators-'));
before(async () => {
  baton = await sharedBaton();
  const { adminToken: token } = baton.connection;
  const exchange = { token, audience: 'control-plane' };
  ({ accessToken } = await baton.admin.identity.platformAccessTokens.exchange(exchange));
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await baton.stop();
});

const services = ['coordination', 'identity'] as const;
const description = (service: (typeof services)[number]) => join(repository, 'openapi', `${service}.json`);
const imported = <Module>(...path: string[]) =>
  import(pathToFileURL(join(folder, ...path)).href) as Promise<Module>;

/** Checks that the compiler finds no error in the generated code. */
async function compiles(name: string): Promise<void> {
  const files = globSync(`${name}/**/*.ts`, { cwd: folder });
  assert.ok(files.length > 0);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = join(clientsFolder, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [compiler, '-p', folder], { timeout: 180_000 }).catch(
    ({ stdout }: { stdout: string }) => assert.fail(stdout.slice(0, 2_000)),
  );
}

describe('third-party client generators', () => {
  const heyApi = withoutClients('@hey-api/openapi-ts', 'typescript');
  const orval = withoutClients('orval', 'typescript');
  for (const skip of new Set([heyApi, orval])) if (skip !== false) console.warn(`SKIPPED: ${skip}`);

  test('@hey-api/openapi-ts writes a client that compiles and creates a task', { skip: heyApi }, async () => {
    const { createClient } = await loadClient<{ createClient(config: object): Promise<unknown> }>(
      '@hey-api/openapi-ts',
    );
    for (const service of services)
      await createClient({
        input: description(service),
        output: { path: join(folder, 'hey-api', service), module: { extension: '.ts' } },
        plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk'],
        logs: { level: 'silent', file: false },
      });
    await compiles('hey-api');
    interface Sdk {
      createTask(call: object): Promise<{ data?: { publicId: string; title: string }; error?: unknown }>;
      getTask(call: object): Promise<{ data?: { title: string }; error?: unknown }>;
    }
    const { createTask, getTask } = await imported<Sdk>('hey-api/coordination/sdk.gen.ts');
    const call = { baseUrl: baton.url, headers: { authorization: `Bearer ${accessToken}` } };
    const made = await createTask({ ...call, body: { title: 'By hey-api' } });
    assert.equal(made.error, undefined);
    const read = await getTask({ ...call, path: { ref: made.data?.publicId } });
    assert.equal(read.data?.title, 'By hey-api');
  });

  test('orval writes a client that compiles and creates a task', { skip: orval }, async () => {
    const { generate } = await loadClient<{ generate(config: object): Promise<unknown> }>('orval');
    for (const service of services)
      await generate({
        input: { target: description(service) },
        output: {
          target: join(folder, 'orval', `${service}.ts`),
          client: 'fetch',
          mode: 'single',
          baseUrl: baton.url,
        },
      });
    await compiles('orval');
    interface Functions {
      createTask(body: object, options: object): Promise<{ status: number; data: { publicId: string } }>;
      getTask(ref: string, options: object): Promise<{ status: number; data: { title: string } }>;
    }
    const { createTask, getTask } = await imported<Functions>('orval/coordination.ts');
    const options = { headers: { authorization: `Bearer ${accessToken}` } };
    const made = await createTask({ title: 'By orval' }, options);
    assert.equal(made.status, 201, JSON.stringify(made.data));
    assert.equal((await getTask(made.data.publicId, options)).data.title, 'By orval');
  });
});
