import {
  type Approval,
  type ApprovalSubject,
  presentSubject,
  revealHidden,
  type SubjectChange,
  subjectChanges,
} from '@baton/sdk';

type Snapshot = ApprovalSubject['snapshot'];

/** The comment of the request, as lines for people. */
export function commentLines({ comment }: Approval): string[] {
  return factLines([['comment', comment]], '');
}

/**
 * The subject of a decision as lines for people: the task, the artifact, the follow-up actions, and what has changed.
 * Nothing is cut, and hidden characters are shown as their codes: the decision may depend on them.
 * @param earlier the approval that this one supersedes
 */
export function reviewLines(approval: Approval, earlier?: Approval): string[] {
  const { subject, changedFields, status } = approval;
  // A decided version no longer changes.
  if (status !== 'pending' && subject !== null)
    return [
      ...subjectLines('What was decided', subject),
      ...changeLines('Changed between the request and the decision', approval.requestedSubject, subject),
      ...changeLines('Changed since the decision', subject, approval.current),
    ];
  const now = presentSubject(approval);
  if (now === undefined)
    return [
      `The current version is too large to be shown, so it can't be approved. Changed since the request: ${changedFields.join(', ')}.`,
    ];
  return [
    ...subjectLines('What this approval covers', now),
    ...(subject === null ? ['', 'The version at the time of the request was not recorded.'] : []),
    ...changeLines('Changed since it was approved', earlier?.subject, now),
    ...changeLines('Changed since it was requested', subject, now),
  ];
}

/**
 * The names of the changed values, such as `title, customFields.amount`; only the fields if the values can't be
 * compared.
 */
export function changedNames(approval: Approval): string {
  const { subject, current, changedFields } = approval;
  const names =
    subject === null || current === null
      ? changedFields
      : subjectChanges(subject, current).map(({ path }) => nameOf(path));
  return names.join(', ');
}

function subjectLines(title: string, { snapshot, digest }: ApprovalSubject): string[] {
  const { task, artifact, outcome } = snapshot;
  const facts = [...taskFacts(task), ...artifactFacts(artifact)];
  return [
    title,
    ...factLines(facts, '  '),
    ...(facts.length === 0 ? ['  no task and no artifact'] : []),
    ...(outcome === null
      ? []
      : [
          'If approved',
          ...actionLines(outcome.approved, '  '),
          'If rejected',
          ...actionLines(outcome.rejected, '  '),
        ]),
    `Digest ${digest}`,
  ];
}

type Fact = readonly [name: string, value: unknown];

function taskFacts(task: Snapshot['task']): Fact[] {
  if (task === null) return [];
  const { title, description, typeKey, typeVersion, priority, startDate, dueDate, customFields, acceptance } =
    task;
  const facts: Fact[] = [
    ['title', title],
    ['description', description],
    ['type', `${typeKey} version ${typeVersion}`],
    ['priority', priority],
    ['startDate', startDate],
    ['dueDate', dueDate],
  ];
  return [
    ...facts.filter(([, value]) => value !== null && value !== ''),
    ...Object.entries(customFields).map(
      ([name, value]): Fact => [nameOf(['task', 'customFields', name]), value],
    ),
    ...acceptance.map(({ key, ...check }): Fact => [nameOf(['task', 'acceptance', key]), checkOf(check)]),
  ];
}

function checkOf(check: Readonly<Record<string, unknown>>): string {
  const { description, kind, addedByPrincipalId: addedBy, ...details } = check;
  const given = Object.fromEntries(Object.entries(details).filter(([, value]) => value != null));
  const more = Object.keys(given).length === 0 ? '' : ` ${JSON.stringify(given)}`;
  const by = typeof addedBy === 'string' ? `, added by ${addedBy}` : '';
  return `${String(description)} (${String(kind)}${by})${more}`.trim();
}

function artifactFacts(artifact: Snapshot['artifact']): Fact[] {
  if (artifact === null) return [];
  const { name, type, digest } = artifact;
  return [
    ['artifact', `${name} (${type})`],
    ...(digest === null ? [] : [['artifact.digest', digest] as const]),
  ];
}

function actionLines(actions: readonly Readonly<Record<string, unknown>>[], indent: string): string[] {
  if (actions.length === 0) return [`${indent}no follow-up actions`];
  return actions.flatMap((action, index) => {
    const [kind, content] = Object.entries(action)[0] ?? ['', undefined];
    return [
      `${indent}${index + 1}. ${revealHidden(kind)}`,
      ...factLines(leavesOf([], content), `${indent}   `),
    ];
  });
}

/** The values within a document, each by its path. */
function leavesOf(path: readonly string[], value: unknown): Fact[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    return [[path.map(quoted).join('.'), value]];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf([...path, name], inner));
}

function changeLines(
  title: string,
  before: ApprovalSubject | null | undefined,
  after: ApprovalSubject | null,
): string[] {
  if (!before || !after || before.digest === after.digest) return [];
  return ['', title, ...subjectChanges(before, after).flatMap(linesOfChange)];
}

function linesOfChange({ path, before, after }: SubjectChange): string[] {
  // Within user-defined documents, null is a value.
  const isSet = (value: unknown) => value !== undefined && (value !== null || path.length > 2);
  const [old, now] = [before, after].map((value) => (isSet(value) ? formatValue(value) : '(not set)'));
  const isAlike = inkOf(old) === inkOf(now);
  const [was = '', is = ''] = isAlike ? [before, after].map(exactText) : [old, now];
  return [
    `  ${nameOf(path)}`,
    ...was.split('\n').map((line) => `    - ${line}`),
    ...is.split('\n').map((line) => `    + ${line}`),
  ];
}

/**
 * The visible part of a text in a terminal: without zero-width joiners and variation selectors, and with all white
 * space collapsed to one space.
 */
const inkOf = (text: string | undefined) =>
  text
    ?.replaceAll(/\u200C|\u200D|\uFE0E|\uFE0F/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A string that distinguishes similar values: 10 and "10", different white space, zero-width joiners. */
function exactText(value: unknown): string {
  return value === undefined ? '(not set)' : revealHidden(JSON.stringify(value), { all: true });
}

/** Further lines of a value begin with a bar, so that others' text can't imitate a line of the program. */
function factLines(facts: readonly Fact[], indent: string): string[] {
  const width = Math.min(Math.max(...facts.map(([name]) => name.length), 0), 32);
  return facts.flatMap(([name, value]) => {
    const [first = '', ...more] = formatValue(value).split('\n');
    return [
      `${indent}${name.padEnd(width)}  ${first}`,
      ...more.map((line) => `${indent}${' '.repeat(width)}| ${line}`),
    ];
  });
}

/** The path of a value in the API; names chosen by others are quoted if they would be ambiguous. */
function nameOf(path: readonly string[]): string {
  const [root, ...rest] = path;
  return (root === 'task' && rest.length > 0 ? rest : path).map(quoted).join('.');
}

function quoted(name: string): string {
  return /^[\w-]+$/.test(name) ? name : revealHidden(JSON.stringify(name));
}

function formatValue(value: unknown): string {
  if (value === '') return '""';
  return revealHidden(typeof value === 'string' ? value : JSON.stringify(value));
}
