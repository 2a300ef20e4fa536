import { listenUntilStopped } from '@baton/kernel/listen';
import { createLog } from '@baton/kernel/log';
import { migrate } from '@baton/kernel/migrate';
import { breakGlassCommand } from '../access/api-keys/break-glass.command.ts';
import { createCoordination } from './app.ts';
import { openBackground } from './background.ts';
import { readCoordinationSettings } from './settings.ts';
import { bindingCommand } from '../access/iam-bindings/binding.command.ts';
import { migrationsDirectory } from '../service/migrations.ts';
import { CommandRefused, type OperatorTools } from '../access/operator-command.ts';

const usage = `Usage: baton coordination <command>

  serve      answer requests on CP_HOST:CP_PORT until SIGTERM or SIGINT
  migrate    bring the schema of CP_DATABASE_URL up to date

At the host of the database, without any credential:
  break-glass issue --principal ID --reason TEXT [--ttl-seconds 3600]
             a key with every right for a person, while identity is out of reach
  break-glass revoke-all
             end every such key
  binding disable|enable ID
             close or open the login of an identity
`;

/** The commands of `baton coordination`; each ends by itself or fails with one sentence. */
const commands: Readonly<Record<string, (args: string[]) => Promise<void>>> = {
  serve: serveCoordination,
  migrate: migrateCoordination,
  'break-glass': (args) => operate(breakGlassCommand, args),
  binding: (args) => operate(bindingCommand, args),
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

/** What these commands do is done in the store; running processes are told by notification. */
async function operate(
  act: (tools: OperatorTools, args: readonly string[]) => Promise<string>,
  args: string[],
): Promise<void> {
  const settings = readCoordinationSettings(process.env);
  // Standard output belongs to what the command prints.
  const log = createLog({ name: 'operator', level: 'error' });
  const { tools, close } = await openBackground(settings, log, 'baton-operator');
  try {
    process.stdout.write(await act(tools, args));
  } finally {
    await close();
  }
}

const [word = '', ...args] = process.argv.slice(2);
const command = commands[word];
if (command === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  try {
    await command(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = error instanceof CommandRefused && error.code === 'usage' ? 2 : 1;
  }
}
