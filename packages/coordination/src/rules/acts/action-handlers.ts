import type { ActionKind } from '../documents/action.ts';
import { closeWork } from './close-work.ts';
import { fileWork } from './file-work.ts';
import { updateWork } from './update-work.ts';
import type { Act } from './work-item.ts';

/** The handler of each kind of action, called once per item. */
export const actionHandlers: Readonly<Record<ActionKind, Act>> = {
  ensure_work: fileWork,
  request_decision: fileWork,
  update_work: updateWork,
  cancel_work: closeWork,
  complete_work: closeWork,
};
