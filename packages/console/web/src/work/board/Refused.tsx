import { Link } from '@tanstack/react-router';
import { BatonError, type Task } from '@baton/sdk';
import { ErrorNote } from '../../parts/Notes.tsx';
import { Who } from '../../parts/Who.tsx';
import type { Refusal } from './moves.ts';

interface RefusedProps {
  readonly task: Pick<Task, 'publicId'>;
  /** Name of the status that it should have gone to. */
  readonly to: string;
  readonly refusal: Refusal;
}

/** Why a task has not moved, and who was faster where somebody was. */
export function Refused({ task, to, refusal: { error, now, by, isBeingChecked } }: RefusedProps) {
  if (isBeingChecked)
    return (
      <p>
        The checks of {task.publicId} run first: it goes to {to} when they have passed.
      </p>
    );
  if (now === undefined)
    return (
      <>
        <p>
          {task.publicId} did not move to {to}.
        </p>
        {error instanceof BatonError && error.code === 'custom_fields_invalid' && (
          <p>
            <Link to="/tasks/$ref" params={{ ref: task.publicId }}>
              Fill in the form of its process
            </Link>{' '}
            first.
          </p>
        )}
        <ErrorNote error={error} />
      </>
    );
  return (
    <p role="alert">
      {task.publicId} did not move to {to}: {by ? <Who id={by} /> : 'somebody'} changed it meanwhile. It is{' '}
      <strong>{now.status.replaceAll('_', ' ')}</strong> now, priority {now.priority}. Move it again if that
      still holds.
    </p>
  );
}
