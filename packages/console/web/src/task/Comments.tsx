import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { MarkdownField } from '../markdown/MarkdownField.tsx';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Who } from '../parts/Who.tsx';
import { commentsQuery } from './comments.ts';
import styles from './task.module.css';

/** The comments on the task, and a form for a new one. */
export function Comments({ task }: { task: Task }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const [text, setText] = useState('');
  const query = useInfiniteQuery(commentsQuery(task));
  const add = useMutation({
    mutationFn: (body: string) =>
      baton.tasks.createComment(task.id, { body }, { idempotencyKey: keys.of(body) }),
    onSuccess: () => {
      keys.taken();
      void queries.invalidateQueries({ queryKey: ['tasks', 'comments', task.id] });
    },
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const body = text.trim();
    if (body !== '') add.mutate(body, { onSuccess: () => setText('') });
  }
  return (
    <section className="card stack" aria-labelledby="comments">
      <h2 id="comments">Comments</h2>
      {query.isError && query.data === undefined && <ErrorNote error={query.error} />}
      {query.data?.length === 0 && <p className="soft">No comments yet.</p>}
      <ul className="stack" hidden={!query.data?.length}>
        {query.data?.map(({ id, authorPrincipalId, body, createdAt }) => (
          <li key={id} className={styles.comment}>
            <p className="soft">
              <Who id={authorPrincipalId} /> · <Moment at={createdAt} />
            </p>
            <Prose text={body} task={task} />
          </li>
        ))}
      </ul>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          Show more
        </button>
      )}
      <form className="stack" onSubmit={onSubmit}>
        <MarkdownField
          label="Your comment"
          isLabelHidden
          value={text}
          onChange={setText}
          maxLength={10_000}
          placeholder="Add a comment …"
        />
        {add.isError && <ErrorNote error={add.error} />}
        <button type="submit" disabled={add.isPending} className={styles.send}>
          Comment
        </button>
      </form>
    </section>
  );
}
