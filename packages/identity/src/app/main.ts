import { availableParallelism } from 'node:os';
import { listenUntilStopped } from '@baton/kernel/listen';
import { createLog } from '@baton/kernel/log';
import { migrate, rehearseMigrations } from '@baton/kernel/migrate';
import { createIdentity } from './app.ts';
import { runAuditCommand } from '../records/audit-chain/audit-command.ts';
import { readIdentitySettings } from './settings.ts';
import { migrationsDirectory } from '../service/database.ts';

// Signatures get a thread for each core, and a slow name look-up one more (decision 0103). It counts until the first use.
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 1);

const usage = `Usage: baton identity <command>

  serve      answer requests on IAM_HOST:IAM_PORT until SIGTERM or SIGINT
  migrate    bring the schema of IAM_DATABASE_URL up to date; with --dry-run only try it and undo it
  audit      check the audit record: baton identity audit verify
`;

/** The commands of `baton identity`; each ends by itself or fails with one sentence. */
const commands: Readonly<Record<string, () => Promise<void>>> = {
  serve: serveIdentity,
  migrate: migrateIdentity,
  audit: auditIdentity,
};

async function serveIdentity(): Promise<void> {
  const { IAM_HOST: host, IAM_PORT: port, IAM_LOG_LEVEL: level } = readIdentitySettings(process.env);
  const log = createLog({ name: 'identity', level });
  const service = await createIdentity({ env: process.env, log });
  try {
    const { url, stopped } = await listenUntilStopped(service, { host, port, log });
    log.info({ url }, `identity answers at ${url}`);
    await stopped;
  } catch (error) {
    await service.close();
    throw error;
  }
}

async function migrateIdentity(): Promise<void> {
  const [option, ...others] = process.argv.slice(3);
  const isRehearsal = option === '--dry-run';
  if (others.length > 0 || !(isRehearsal || option === undefined))
    throw new Error('Usage: baton identity migrate [--dry-run]');
  const { IAM_DATABASE_URL: url } = readIdentitySettings(process.env);
  if (isRehearsal) {
    const { pending, head } = await rehearseMigrations(url, migrationsDirectory);
    const due = pending.length === 0 ? 'nothing to do' : `would apply ${pending.join(', ')}`;
    process.stdout.write(`The database of identity, for revision ${head}: ${due}. Nothing was changed.\n`);
    return;
  }
  const { applied, head } = await migrate(url, migrationsDirectory);
  const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`;
  process.stdout.write(`The database of identity is at revision ${head}: ${done}.\n`);
}

async function auditIdentity(): Promise<void> {
  process.exitCode = await runAuditCommand(process.argv.slice(3), process.env, {
    say: (line) => process.stdout.write(`${line}\n`),
    complain: (line) => process.stderr.write(`${line}\n`),
  });
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
