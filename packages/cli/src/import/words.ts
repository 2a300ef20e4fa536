import type { Priority, SourceStatus } from './source.ts';

/** The meanings of words that people define in their tracker. */
export interface Words {
  /** The meanings of statuses, by their names as normalized by `plainWord`. */
  readonly statuses: ReadonlyMap<string, SourceStatus>;
}

const statusWords: readonly (readonly [SourceStatus, RegExp])[] = [
  ['done', /^(?:done|closed?|completed?|resolved|fixed|finished|shipped|released|merged)$/],
  [
    'cancelled',
    /^(?:cancel(?:l?ed)?|won'?t (?:do|fix)|wontfix|not planned|not_planned|rejected|declined|duplicate|invalid|obsolete|abandoned|deleted|tombstone|archived)$/,
  ],
  ['backlog', /^backlog$/],
  // Agents are offered tasks in `backlog`, so work that should not start or hasn't been accepted yet needs another
  // status.
  [
    'blocked',
    /^(?:blocked|on hold|on-hold|waiting|paused|draft|proposed|triage|deferred|postponed|icebox|on ice|someday|later|snoozed)$/,
  ],
];

/** The meaning of a tracker's word; undefined for an unknown one. */
export function findStatus(word: string, { statuses }: Words): SourceStatus | undefined {
  const plain = plainWord(word);
  return statuses.get(plain) ?? statusWords.find(([, form]) => form.test(plain))?.[0];
}

/** The meaning of a tracker's word; open for an unknown one. */
export function readStatus(word: string, words: Words): SourceStatus {
  return findStatus(word, words) ?? 'open';
}

/** Resolutions under which an issue was closed without being done. */
const cancellingResolution =
  /^(?:(?:can'?t|cannot|unable to) reproduce|not reproducible|incomplete|not a bug|not an issue|works as (?:designed|intended)|by design|out of scope|withdrawn|superseded)$/;

/** What an issue's resolution means; undefined for one without a meaning, such as `Unresolved`. */
export function readResolution(word: string): 'done' | 'cancelled' | undefined {
  const plain = plainWord(word);
  if (/^(?:|unresolved|none|open|no resolution)$/.test(plain)) return undefined;
  const isCancelled = findStatus(plain, noWords) === 'cancelled' || cancellingResolution.test(plain);
  return isCancelled ? 'cancelled' : 'done';
}

const noWords: Words = { statuses: new Map() };

const priorityWords: readonly (readonly [Priority, RegExp])[] = [
  ['critical', /^(?:critical|highest|urgent|immediate|blocker|p?0)$/],
  ['high', /^(?:high|major|important|p?1)$/],
  ['medium', /^(?:medium|normal|moderate|p?2)$/],
  ['low', /^(?:low|lowest|minor|trivial|p?[34])$/],
];

/** The priority of a word or number; undefined for none. */
export function priorityIn(word: string): Priority | undefined {
  const plain = plainWord(word);
  return priorityWords.find(([, form]) => form.test(plain))?.[0];
}

/** Normalizes a word for comparison: without punctuation such as the colon of `status: QA`. */
export function plainWord(word: string): string {
  return word
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}'_ -]+/gu, '')
    .trim()
    .toLowerCase();
}
