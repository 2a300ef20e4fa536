// npm run generate [-- --check]: writes the files that are generated from the migrations and the declarations of both
// services.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startCluster } from '@baton/platform/postgres/cluster';
import { StartError } from '@baton/platform/start-error';
import { brokenVersions } from './event-versions.ts';
import { writeCli } from './generate-cli.ts';
import { writeConfiguration } from './generate-configuration.ts';
import { writeErrors } from './generate-errors.ts';
import { writeEvents } from './generate-events.ts';
import { writeOpenApi } from './generate-openapi.ts';
import { writePermissions } from './generate-permissions.ts';
import { writeSchemas } from './generate-schema.ts';
import { writeSdk } from './generate-sdk.ts';
import type { GeneratedFile } from './generated-file.ts';
import { services } from './services.ts';

const root = dirname(import.meta.dirname);
const eventsFile = 'openapi/coordination.asyncapi.json';

/** Every generated file as it should be. Needs `BATON_TEST_POSTGRES` for the schemas. */
async function generate(): Promise<GeneratedFile[]> {
  return [
    ...(await writeSchemas(root, services)),
    ...writeOpenApi(services),
    writeErrors(services),
    await writeEvents(root, services),
    writePermissions(services),
    writeCli(),
    writeConfiguration(services),
    ...writeSdk(root, services),
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
  let [stale, isBroken] = [0, false];
  for (const { path, text } of await withCluster(generate)) {
    const file = join(root, path);
    const current = await readFile(file, 'utf8').catch(() => undefined);
    if (current === text) continue;
    const broken = brokenIn(path, current, text);
    for (const sentence of broken) console.error(sentence);
    if (broken.length > 0) console.error(notYetOnMain);
    isBroken ||= broken.length > 0;
    stale += 1;
    const isWritten = !isCheck && broken.length === 0;
    if (isWritten) await writeFile(file, text);
    console.log(isWritten ? `wrote ${path}` : `${path} is stale: npm run generate writes it`);
  }
  return isBroken || (isCheck && stale > 0) ? 1 : 0;
}

const notYetOnMain = `An event that is not on main yet may still change: git checkout main -- ${eventsFile}, then npm run generate.`;

/** The current description, on which consumers of events rely. */
function brokenIn(path: string, current: string | undefined, text: string): string[] {
  if (path !== eventsFile || current === undefined || current.includes('<<<<<<<')) return [];
  return brokenVersions(JSON.parse(current), JSON.parse(text));
}

try {
  process.exitCode = await main(process.argv.includes('--check'));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
