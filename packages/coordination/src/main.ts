import { listenUntilStopped } from '@baton/kernel/listen';
import { createLog } from '@baton/kernel/log';
import { migrate } from '@baton/kernel/migrate';
import { createCoordination } from './app.ts';
import { readCoordinationSettings } from './config.ts';
import { migrationsDirectory } from './migrations.ts';

const usage = `Usage: baton coordination <command>

  serve      answer requests on CP_HOST:CP_PORT until SIGTERM or SIGINT
  migrate    bring the schema of CP_DATABASE_URL up to date
`;

/** The commands of `baton coordination`; each ends by itself or fails with one sentence. */
const commands: Readonly<Record<string, () => Promise<void>>> = {
  serve: serveCoordination,
  migrate: migrateCoordination,
};

async function serveCoordination(): Promise<void> {
  const settings = readCoordinationSettings(process.env);
  const log = createLog({ name: 'coordination', level: settings.CP_LOG_LEVEL });
  const service = await createCoordination({ env: process.env, log });
  try {
    const { url, stopped } = await listenUntilStopped(service, {
      host: settings.CP_HOST,
      port: settings.CP_PORT,
      log,
    });
    log.info({ url, env: settings.CP_ENV }, `coordination answers at ${url}`);
    await stopped;
  } catch (error) {
    await service.close();
    throw error;
  }
}

async function migrateCoordination(): Promise<void> {
  const { CP_DATABASE_URL } = readCoordinationSettings(process.env);
  const { applied, head } = await migrate(CP_DATABASE_URL, migrationsDirectory);
  const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`;
  process.stdout.write(`The database of coordination is at revision ${head}: ${done}.\n`);
}

const command = commands[process.argv[2] ?? ''];
if (command === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  try {
    await command();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
