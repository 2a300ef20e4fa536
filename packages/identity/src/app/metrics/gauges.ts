import { Gauge, type Registry } from 'prom-client';
import { awaitAtMost } from '../../service/await-at-most.ts';
import type { Tools } from '../context.ts';
import { findJournalLag } from './gauges.sql.ts';

const journalMsMax = 2000;
const noJournal = { unsettled_events: Number.NaN, writer_seconds: Number.NaN, epochs: Number.NaN };

/**
 * Adds the gauges of identity (see docs/reference/audit.md#health-and-metrics): its queues, its connections, the keys
 * of providers and the journal's lag. No tenant, provider or credential is ever a label; the log names the provider
 * that fails.
 */
export function measureService(
  registry: Registry,
  { signingKeys, ledger, journalWatch, pool, providerKeys }: Tools,
): void {
  const gauge: AddGauge = (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  };
  gauge('iam_signatures_waiting', 'Signatures in progress or queued.', () => signingKeys.waiting);
  gauge('iam_keys_published', 'Keys in the key document.', () => signingKeys.publishedCount);
  gauge(
    'iam_audit_rows_waiting',
    'Audit rows of exchanges that are queued for their insert.',
    () => ledger.waiting,
  );

  gauge(
    'iam_journal_readers_waiting',
    'Readers of the journal that wait for an event.',
    () => journalWatch.waiting,
  );

  gauge('iam_database_connections_in_use', 'Connections at work.', () => pool.usage().inUse);
  gauge('iam_database_connections_idle', 'Connections without work.', () => pool.usage().idle);
  gauge('iam_database_requests_waiting', 'Requests that wait for a connection.', () => pool.usage().waiting);

  measureProviderKeys(gauge, providerKeys);
  measureJournal(gauge, pool);
}

type AddGauge = (name: string, help: string, read: () => number | Promise<number>) => void;

function measureProviderKeys(gauge: AddGauge, providerKeys: Tools['providerKeys']): void {
  gauge(
    'iam_provider_key_sets',
    'Identity providers whose keys are cached.',
    () => providerKeys.health().kept,
  );
  gauge(
    'iam_provider_key_sets_failing',
    'Identity providers whose last request for keys, within 15 minutes, failed.',
    () => providerKeys.health().failing,
  );
  gauge(
    'iam_provider_keys_failing_age_seconds',
    'Age of the oldest keys that are used while their provider fails.',
    () => providerKeys.health().failingAgeSeconds,
  );
}

/** These gauges share one statement. If the database is unavailable, their value is NaN. */
function measureJournal(gauge: AddGauge, pool: Tools['pool']): void {
  let asked: ReturnType<typeof ask> | undefined;
  const ask = () => awaitAtMost(journalMsMax, pool.row(findJournalLag()));
  const journal = async () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    return (await asked) ?? noJournal;
  };
  gauge(
    'iam_journal_unsettled_events',
    'Journal sequence numbers that are drawn but not readable yet.',
    async () => (await journal()).unsettled_events,
  );
  gauge(
    'iam_journal_oldest_writer_seconds',
    'The age of the oldest unfinished write to the journal, which delays every reader.',
    async () => (await journal()).writer_seconds,
  );
  gauge(
    'iam_journal_epochs',
    'Restarts, failovers and restores of the database after which the journal continued.',
    async () => (await journal()).epochs,
  );
}
