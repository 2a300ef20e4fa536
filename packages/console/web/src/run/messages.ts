import type { ControlMessage } from '@baton/sdk';

type Operation = ControlMessage['operation'];

/** The texts for each control message: the label of its button, and what its sender did. */
export const messageWords: Readonly<Record<Operation, { readonly button: string; readonly did: string }>> = {
  queue: { button: 'Note for later', did: 'left a note for later' },
  steer: { button: 'Steer', did: 'steered the agent' },
  redirect: { button: 'Redirect', did: 'redirected the agent' },
  request_cancel: { button: 'Request stop', did: 'requested a stop' },
  force_cancel: { button: 'Stop now', did: 'stopped the attempt' },
};

/** The effect of each message, shown in its form. */
export const messageEffects: Readonly<Record<Operation, string>> = {
  queue: 'The agent reads the note after its current work.',
  steer: 'The agent keeps its task and takes the hint into account at its next safe point.',
  redirect: 'The agent stops its current approach at its next safe point and follows the new direction.',
  request_cancel: 'The agent stops by itself at its next safe point, and can still save its work.',
  force_cancel:
    'The attempt and the attempts that it launched end immediately. Unsaved work is lost, and later changes by the agent are rejected.',
};
