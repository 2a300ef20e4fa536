import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../../client.ts';
import { RawEvent } from '../../journal/EventLine.tsx';
import { SentenceText } from '../../journal/sentences/Sentence.tsx';
import { toneOf } from '../../journal/sentences/sentences.ts';
import { Avatar } from '../../parts/Avatar.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Prose } from '../../parts/Prose.tsx';
import { commentsQuery } from '../comments.ts';
import styles from './activity.module.css';
import type { Happening } from './merged-events.ts';

/** One line: who did what, and when. When opened, it shows the journal events that it summarizes. */
export function ActivityLine({
  happening: { event, events },
  task,
}: {
  readonly happening: Happening;
  readonly task: Task;
}) {
  const [isOpen, setOpen] = useState(false);
  const { commentId } = event.payload;
  return (
    <li className={styles.line}>
      <span className={`${styles.mark} ${styles[toneOf(event.type)]}`}>
        <Avatar id={event.actorId} />
      </span>
      <div className={styles.content}>
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary className={styles.summary} title={event.type}>
            <SentenceText event={event} within={task.id} />{' '}
            <span className={`soft ${styles.when}`}>
              <Moment at={event.occurredAt} />
            </span>
          </summary>
          {isOpen && (
            <div className={styles.raw}>
              {events.map((one) => (
                <RawEvent key={one.id} event={one} isAlone />
              ))}
            </div>
          )}
        </details>
        {event.type === 'task.comment_added' && typeof commentId === 'string' && (
          <CommentBody task={task} id={commentId} />
        )}
      </div>
    </li>
  );
}

/** The current text of a comment. The event doesn't contain it. */
function CommentBody({ task, id }: { readonly task: Task; readonly id: string }) {
  const comments = useInfiniteQuery(commentsQuery(task));
  const listed = comments.data?.find((one) => one.id === id);
  // The list begins with the oldest comments. If it is long, the newest are read individually.
  const own = useQuery({
    queryKey: ['tasks', 'comments', task.id, id],
    queryFn: ({ signal }) => baton.tasks.getComment(task.id, id, { signal }),
    enabled: comments.isSuccess && !comments.isFetching && listed === undefined,
  });
  const comment = listed ?? own.data;
  if (comment === undefined) return null;
  return (
    <div className={styles.body}>
      <Prose text={comment.body} task={task} />
      {comment.editedAt !== null && (
        <p className="soft">
          edited <Moment at={comment.editedAt} />
        </p>
      )}
    </div>
  );
}
