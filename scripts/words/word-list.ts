/** A word or phrase that the house style rejects, with its replacement. */
export interface RefusedWord {
  /** The source of a regular expression, which matches whole words in any case. */
  readonly form: string;
  readonly use: string;
}

/** All rejected words. A word is added here once the repository no longer contains it. */
export const refusedWords: readonly RefusedWord[] = [
  { form: 'judg(?:e|es|ed|ing|e?ment)', use: 'validate, evaluate, check' },
  { form: 'tells?|told|telling', use: 'notify, report, print; to tell apart: distinguish' },
  { form: '(?:says?|said|saying)(?! hello)', use: 'state, report, mean, specify' },
  { form: 'asks?|asked|asking', use: 'request, query, prompt, require' },
  { form: '(?:stands?|stood|standing)(?!-)', use: 'is, remains, exists, applies' },
  { form: 'gone', use: 'deleted, expired, closed, missing' },
  { form: 'look(?:s|ed|ing)? at', use: 'check, read, inspect' },
  { form: 'look(?:s|ed|ing)? for', use: 'search, find' },
  { form: 'look(?:s|ed|ing)? after', use: 'maintain, manage' },
  { form: 'look(?:s|ed|ing)? like', use: 'resemble, have the form of' },
  { form: 'thrown away|throws? away', use: 'discard' },
  { form: 'sets? aside', use: 'dead letter; to move to the dead letters' },
  { form: 'parked', use: 'on hold, pending' },
  { form: '(?:is|are|was|were|be) over', use: 'has ended, has expired; with a number: exceeds' },
  { form: 'anew', use: 'again' },
  { form: 'whoever', use: 'the caller, anyone who' },
  { form: '(?:comes?|came) by', use: 'arrives through, passes' },
  { form: 'lies', use: 'is, is stored' },
  { form: 'made known', use: 'announced, published, declared' },
  { form: 'is no more', use: 'no longer exists' },
  { form: 'of chance', use: 'random' },
  { form: 'limit of time|time limit', use: 'timeout, deadline' },
];
