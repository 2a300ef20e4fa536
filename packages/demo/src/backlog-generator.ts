import { pick, seededRandom } from './seeded-random.ts';

/** One issue of a backlog, in the form of a line of a beads file. */
export interface GeneratedIssue {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly priority: number;
  readonly issue_type: string;
  readonly dependencies: readonly GeneratedDependency[];
}

interface GeneratedDependency {
  readonly on: string;
  readonly type: string;
}

const verbs = ['Fix', 'Add', 'Remove', 'Rename', 'Document', 'Test', 'Speed up', 'Review', 'Split', 'Port'];
const things = [
  'the importer',
  'the login page',
  'retries',
  'the parser',
  'the cache',
  'error texts',
  'the export',
];
const places = [
  'in the command line',
  'for large files',
  'on Windows',
  'in the daemon',
  'behind a proxy',
  'in tests',
];

/** Sampled uniformly. The proportions match a real backlog: most issues are plain tasks of medium priority. */
const priorities = [0, 1, 1, 2, 2, 2, 2, 2, 3, 4];
const types = ['task', 'task', 'task', 'bug', 'bug', 'feature', 'chore'];
const statuses = [...Array<string>(17).fill('open'), 'closed', 'closed', 'tombstone'];

const epicEvery = 25;
const blocksShare = 0.35;
/** An issue depends on one of the 40 before it, which creates chains instead of stars. */
const reach = 40;

/**
 * Generates a backlog shaped like a real one: chains of blockers, epics with children, a few closed issues. The same
 * seed gives the same backlog, and its dependencies have no cycle.
 */
export function generateBacklog(issues: number, seed = 1): GeneratedIssue[] {
  const random = seededRandom(seed);
  return Array.from({ length: issues }, (_, index) => {
    const isEpic = index % epicEvery === 0;
    return {
      id: idOf(index),
      title: `${pick(verbs, random)} ${pick(things, random)} ${pick(places, random)}`,
      status: pick(statuses, random),
      priority: pick(priorities, random),
      issue_type: isEpic ? 'epic' : pick(types, random),
      dependencies: isEpic ? [] : dependenciesOf(index, random),
    };
  });
}

function dependenciesOf(index: number, random: () => number): GeneratedDependency[] {
  const dependencies: GeneratedDependency[] = [
    { on: idOf(index - (index % epicEvery)), type: 'parent-child' },
  ];
  if (random() < blocksShare)
    dependencies.push({
      on: idOf(index - 1 - Math.floor(random() * Math.min(index, reach))),
      type: 'blocks',
    });
  if (random() < 0.05) dependencies.push({ on: idOf(Math.floor(random() * index)), type: 'discovered-from' });
  return dependencies;
}

function idOf(index: number): string {
  return `made-${String(index + 1).padStart(5, '0')}`;
}
