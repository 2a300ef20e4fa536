import type { Run } from '@baton/sdk';

type Output = Readonly<Record<string, unknown>>;

/** A link in a result. */
export interface ResultLink {
  readonly label: string;
  readonly url: string;
}

const linksMax = 20;
const membersMax = 200;
const summaryKeys = ['summary', 'result', 'message', 'text', 'answer'];
const noteKeys = ['note', 'summary', 'step', 'message', 'text'];
const commitKeys = ['commit', 'commitSha', 'commit_sha', 'sha', 'revision'];

const labels: readonly [RegExp, string][] = [
  [/^(pr|pull_?request|merge_?request)(_?url)?$/i, 'Pull request'],
  [/^commit(_?url)?$/i, 'Commit'],
  [/^(deploy|deployment|preview|environment)(_?url)?$/i, 'Deployment'],
  [/^(ci|build|pipeline|checks?)(_?url)?$/i, 'Build'],
  [/^(issue|ticket)(_?url)?$/i, 'Issue'],
];
const paths: readonly [RegExp, string][] = [
  [/\/(?:pull|pulls|merge_requests)\/\d+/, 'Pull request'],
  [/\/commits?\/[0-9a-f]{7,64}/i, 'Commit'],
  [/\/issues\/\d+/, 'Issue'],
];

/** The summary of a result; undefined if the output has none. */
export const summaryOf = (output: Output | null): string | undefined => textOf(output, summaryKeys);

/** The agent's note at a checkpoint; undefined if the data contains none. */
export const noteOf = (data: Output): string | undefined => textOf(data, noteKeys);

/** The abbreviated commit hash of a result, which may be part of a link. */
export function commitOf(output: Output | null): string | undefined {
  const hash = textOf(output, commitKeys);
  const [, found] = /(?:^|\/commits?\/)([0-9a-f]{7,64})$/i.exec(hash?.slice(0, 2_000) ?? '') ?? [];
  return found?.slice(0, 7);
}

function textOf(output: Output | null, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = output?.[key];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}

/** The members of an output or of a checkpoint that no other part of the page shows. */
export function restOf(output: Output, isNote = false): Output {
  const shown = new Set<unknown>((isNote ? noteKeys : summaryKeys).slice(0, 1));
  const [first] = (isNote ? noteKeys : summaryKeys).filter((key) => textOf(output, [key]) !== undefined);
  shown.add(first);
  return Object.fromEntries(Object.entries(output).filter(([name]) => !shown.has(name)));
}

/** The links in an output: HTTP addresses among its members, or in lists and objects within it. */
export function linksOf(output: Output | null): ResultLink[] {
  const links = new Map<string, ResultLink>();
  let left = membersMax;
  const visit = (key: string, value: unknown, depth: number): void => {
    left -= 1;
    if (left < 0 || links.size === linksMax) return;
    if (typeof value === 'string') {
      const url = webAddress(value);
      if (url !== undefined && !links.has(url)) links.set(url, { label: labelOf(key, url), url });
    } else if (typeof value === 'object' && value !== null && depth < 2)
      for (const [name, inner] of Object.entries(value))
        visit(Array.isArray(value) ? key : name, inner, depth + 1);
  };
  visit('', output, 0);
  return [...links.values()];
}

const addressCharactersMax = 2_000;

/** An HTTP address without user name and password; undefined for any other text, for example `javascript:`. */
export function webAddress(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > addressCharactersMax || !/^https?:\/\//i.test(text))
    return undefined;
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
      ? url.href
      : undefined;
  } catch {
    return undefined;
  }
}

function labelOf(key: string, url: string): string {
  const byKey = labels.find(([pattern]) => pattern.test(key))?.[1];
  const byPath = paths.find(([pattern]) => pattern.test(url))?.[1];
  if (byKey ?? byPath) return (byKey ?? byPath) as string;
  const words = key
    .replace(/_?url$/i, '')
    .replaceAll('_', ' ')
    .trim()
    .slice(0, 60);
  return words === '' ? 'Link' : words.charAt(0).toUpperCase() + words.slice(1);
}

/** How long a run took, or has taken so far. */
export const runMs = (
  { startedAt, finishedAt }: Pick<Run, 'startedAt' | 'finishedAt'>,
  nowMs: number,
): number => (finishedAt === null ? nowMs : Date.parse(finishedAt)) - Date.parse(startedAt);
