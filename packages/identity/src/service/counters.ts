import { Counter, Histogram, type Registry } from 'prom-client';

/** Identity's own metrics, besides those of requests. No tenant, principal or credential is ever a label. */
export interface Counters {
  /** Counts one presented credential, by its outcome. */
  presented(credential: PresentedKind, outcome: string): void;
  /** Counts one signature and its duration, including the time it waited. */
  signed(seconds: number): void;
  /**
   * Counts a reader of the journal that comes from another history. @returns whether to log it, which is true at most
   * once a minute
   */
  rewound(): boolean;
}

export type PresentedKind =
  | 'pat'
  | 'client'
  | 'upstream'
  | 'assertion'
  | 'scim'
  | 'admin'
  | 'session'
  | 'passkey'
  | 'invitation'
  | 'administration'
  | 'delegation';

const rewoundLoggedAgainMs = 60_000;

export function createCounters(registry: Registry): Counters {
  const exchanges = new Counter({
    name: 'iam_presented_credentials_total',
    help: 'Credentials presented, by kind and outcome.',
    labelNames: ['credential', 'outcome'],
    registers: [registry],
  });
  const signing = new Histogram({
    name: 'iam_signature_seconds',
    help: 'Duration of a signature, including its wait.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [registry],
  });
  const rewound = new Counter({
    name: 'iam_journal_readers_rewound_total',
    help: 'Reads of the journal from a sequence that this database never issued.',
    registers: [registry],
  });
  let rewoundLoggedAtMs = Number.NEGATIVE_INFINITY;
  return {
    presented: (credential, outcome) => exchanges.inc({ credential, outcome }),
    signed: (seconds) => signing.observe(seconds),
    rewound() {
      rewound.inc();
      if (performance.now() - rewoundLoggedAtMs < rewoundLoggedAgainMs) return false;
      rewoundLoggedAtMs = performance.now();
      return true;
    },
  };
}
