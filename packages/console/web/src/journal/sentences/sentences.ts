import type { JournalEvent } from '@baton/sdk';
import { ofAdministration } from './of-administration.ts';
import { ofOrganisation } from './of-organisation.ts';
import { ofProcesses } from './of-processes.ts';
import { ofRuns } from './of-runs.ts';
import { ofTasks } from './of-tasks.ts';
import { Facts, type Sentence, say, type Teller } from './sentence.ts';

const tellers = new Map<string, Teller>(
  [ofTasks, ofRuns, ofProcesses, ofOrganisation, ofAdministration].flatMap((one) => Object.entries(one)),
);

/**
 * Describes an event as a sentence. An unknown type, from a newer Baton, is described by the words of its name.
 * @param within the id of the object whose page shows the sentence
 */
export function sentenceOf(event: JournalEvent, within?: string): Sentence {
  const facts = new Facts(event, within);
  const teller = tellers.get(event.type);
  return capitalised(
    teller?.(facts) ?? say`${facts.by}: ${event.type.slice(0, 200).replaceAll(/[._]/g, ' ')}, ${facts.it}`,
  );
}

function capitalised([first = '', ...rest]: Sentence): Sentence {
  return typeof first === 'string'
    ? [first.charAt(0).toUpperCase() + first.slice(1), ...rest]
    : [first, ...rest];
}

/** The filters of a task's activity, each with the prefixes of its types. */
export const kinds = {
  comments: { label: 'Comments', prefixes: ['task.comment_'] },
  work: {
    label: 'Work',
    prefixes: [
      'task.claimed',
      'task.retry_scheduled',
      'task.attempts_exhausted',
      'task.made_available',
      'task.completed',
      'claim.',
      'run.',
      'skill.invocation_',
    ],
  },
  decisions: { label: 'Decisions', prefixes: ['approval.', 'task.verif'] },
  results: { label: 'Results', prefixes: ['run.succeeded', 'task.completed', 'artifact.created'] },
  changes: {
    label: 'Changes',
    prefixes: [
      'task.created',
      'task.updated',
      'task.relation_',
      'task.external_reference_',
      'task.type_migrated',
      'work.',
    ],
  },
} as const satisfies Record<string, { readonly label: string; readonly prefixes: readonly string[] }>;
export type Kind = keyof typeof kinds;

/** The tone of an event's mark in a list. */
export function toneOf(type: string): 'good' | 'bad' | 'warn' | 'comment' | 'plain' {
  if (/succeeded$|\.completed$|\.approved$|\.verified$/.test(type)) return 'good';
  if (/failed$|rejected$|expired$|exhausted$|cancelled$|disabled$|breached$/.test(type)) return 'bad';
  if (/requested$|suspended$|stalled$|warning$|deferred$/.test(type)) return 'warn';
  return /comment_/.test(type) ? 'comment' : 'plain';
}
