import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import type { Task } from '@baton/sdk';
import { baton } from '../../client.ts';
import { MarkdownField } from '../../markdown/MarkdownField.tsx';
import { useIdempotencyKeys } from '../../parts/idempotency.ts';
import { Moment } from '../../parts/Moment.tsx';
import { ErrorNote } from '../../parts/Notes.tsx';
import { Prose } from '../../parts/Prose.tsx';
import { ShowMore } from '../../parts/ShowMore.tsx';
import { Who } from '../../parts/Who.tsx';
import { commentsQuery } from '../comments.ts';
import styles from './activity.module.css';

/** A form for a new comment. */
export function CommentForm({ task }: { readonly task: Task }) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const [text, setText] = useState('');
  const add = useMutation({
    mutationFn: (body: string) =>
      baton.tasks.createComment(task.id, { body }, { idempotencyKey: keys.of(body) }),
    onSuccess: () => {
      keys.taken();
      void queries.invalidateQueries({ queryKey: ['tasks', 'comments', task.id] });
      void queries.invalidateQueries({ queryKey: ['activity', task.id] });
    },
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const body = text.trim();
    if (body !== '') add.mutate(body, { onSuccess: () => setText('') });
  }
  return (
    <form className={`stack ${styles.form}`} onSubmit={onSubmit}>
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
  );
}

/** The comments alone, oldest first, for a person who may not read the journal. */
export function CommentList({ task }: { readonly task: Task }) {
  const query = useInfiniteQuery(commentsQuery(task));
  return (
    <>
      {query.isError && query.data === undefined && <ErrorNote error={query.error} />}
      {query.data?.length === 0 && <p className="soft">No comments yet.</p>}
      <ul className="stack" hidden={!query.data?.length}>
        {query.data?.map(({ id, authorPrincipalId, body, createdAt }) => (
          <li key={id} className="stack">
            <p className="soft">
              <Who id={authorPrincipalId} /> · <Moment at={createdAt} />
            </p>
            <Prose text={body} task={task} />
          </li>
        ))}
      </ul>
      <ShowMore query={query} />
    </>
  );
}
