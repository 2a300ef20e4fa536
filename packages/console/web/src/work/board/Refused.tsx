import { Link } from '@tanstack/react-router';
import { BatonError, type Task } from '@baton/sdk';
import { ErrorNote } from '../../parts/Notes.tsx';
import { Who } from '../../parts/Who.tsx';
import type { Refusal } from './moves.ts';

interface RefusedProps {
  readonly task: Pick<Task, 'publicId'>;
  /** The name of the target status. */
  readonly to: string;
  readonly refusal: Refusal;
}

/** The reason why a task was not moved, and the author of a change in the meantime. */
export function Refused({ task, to, refusal: { error, now, by, isBeingChecked } }: RefusedProps) {
  if (isBeingChecked)
    return (
      <p>
        {task.publicId} moves to {to} when its acceptance checks have passed.
      </p>
    );
  if (now === undefined)
    return (
      <>
        <p>
          {task.publicId} was not moved to {to}.{' '}
        </p>
        {error instanceof BatonError && error.code === 'custom_fields_invalid' && (
          <p>
            <Link to="/tasks/$ref" params={{ ref: task.publicId }}>
              Fill in its process form
            </Link>{' '}
            first.
          </p>
        )}
        <ErrorNote error={error} />
      </>
    );
  return (
    <p role="alert">
      {task.publicId} was not moved to {to}: {by ? <Who id={by} /> : 'somebody'} changed it in the meantime.
      It is now <strong>{now.status.replaceAll('_', ' ')}</strong>, priority {now.priority}. Review it and try
      again.
    </p>
  );
}
