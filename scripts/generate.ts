// npm run generate [-- --check]: writes what follows from the migrations and the declarations of both services.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startCluster } from '@baton/platform/postgres/cluster';
import { StartError } from '@baton/platform/start-error';
import { writeConfiguration } from './generate-configuration.ts';
import { writeErrors } from './generate-errors.ts';
import { writeEvents } from './generate-events.ts';
import { writeOpenApi } from './generate-openapi.ts';
import { writePermissions } from './generate-permissions.ts';
import { writeSchemas } from './generate-schema.ts';
import type { GeneratedFile } from './generated-file.ts';
import { services } from './services.ts';

const root = dirname(import.meta.dirname);

/** Every generated file as it should be. Needs `BATON_TEST_POSTGRES` for the schemas. */
async function generate(): Promise<GeneratedFile[]> {
  return [
    ...(await writeSchemas(root, services)),
    ...writeOpenApi(services),
    writeErrors(services),
    await writeEvents(root, services),
    writePermissions(services),
    writeConfiguration(services),
  ];
}

async function withCluster<T>(work: () => Promise<T>): Promise<T> {
  if (process.env.BATON_TEST_POSTGRES) return work();
  const directory = await mkdtemp(join(tmpdir(), 'baton-generate-'));
  const cluster = await startCluster({
    directory: join(directory, 'postgres'),
    durable: false,
    say: console.log,
  });
  process.env.BATON_TEST_POSTGRES = cluster.url('postgres');
  try {
    return await work();
  } finally {
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function main(isCheck: boolean): Promise<number> {
  let stale = 0;
  for (const { path, text } of await withCluster(generate)) {
    const file = join(root, path);
    const current = await readFile(file, 'utf8').catch(() => undefined);
    if (current === text) continue;
    stale += 1;
    if (!isCheck) await writeFile(file, text);
    console.log(isCheck ? `${path} is stale: npm run generate writes it` : `wrote ${path}`);
  }
  return isCheck && stale > 0 ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.includes('--check'));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
