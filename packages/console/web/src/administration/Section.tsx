import { type QueryKey, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useRef, useState } from 'react';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import table from '../parts/table.module.css';
import styles from './administration.module.css';
import { isChanged } from './Choices.tsx';

export const pageSize = 100;

interface ListProps<Item> {
  /** Below `administration`. */
  readonly name: QueryKey;
  read(
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<{ items: readonly Item[]; next?: string | undefined }>;
  readonly empty: string;
  children(item: Item): ReactNode;
}

/** A list that is read by pages, with its errors, and with a word where it is empty. */
export function List<Item>({ name, read, empty, children }: ListProps<Item>) {
  const query = useInfiniteQuery({
    queryKey: ['administration', ...name],
    queryFn: ({ pageParam, signal }) => read(pageParam || undefined, signal),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  return (
    <>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={4} />}
      {query.data?.length === 0 && <p className="soft">{empty}</p>}
      {query.data !== undefined && query.data.length > 0 && (
        <ul className={table.lines}>{query.data.map(children)}</ul>
      )}
      <ShowMore query={query} />
    </>
  );
}

/** What a form holds: one text for each name, or the chosen ones. */
export interface Values {
  text(name: string): string;
  all(name: string): string[];
}

function valuesOf(form: HTMLFormElement): Values & { readonly plain: object } {
  const data = new FormData(form);
  return {
    text: (name) => String(data.get(name) ?? '').trim(),
    all: (name) => data.getAll(name).map(String),
    plain: [...data.entries()],
  };
}

interface CreateProps {
  readonly title: string;
  readonly submit?: string;
  /** The same key while the form holds the same: after a lost answer nothing is made twice. */
  make(values: Values, idempotencyKey: string): Promise<void>;
  readonly children: ReactNode;
}

/** A form that opens below its title, makes something, and closes. */
export function Create({ title, submit = 'Create', make, children }: CreateProps) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const [isOpen, setOpen] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const create = useMutation({
    mutationFn: (values: ReturnType<typeof valuesOf>) => make(values, keys.of(values.plain)),
    onSuccess: () => {
      keys.taken();
      form.current?.reset();
      setOpen(false);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'], predicate: isChanged }),
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    create.mutate(valuesOf(event.currentTarget));
  }
  return (
    <details
      className={`card ${styles.create}`}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{title}</summary>
      <form ref={form} className="stack" onSubmit={onSubmit}>
        {children}
        {create.isError && <ErrorNote error={create.error} />}
        <div className="row">
          <button type="submit" className="primary" disabled={create.isPending}>
            {create.isPending ? `${submit} …` : submit}
          </button>
        </div>
      </form>
    </details>
  );
}

/** A field of a form, with its label above it. */
export function Field({
  label,
  hint,
  ...input
}: { label: string; hint?: string } & React.ComponentProps<'input'>) {
  return (
    <label className={styles.field}>
      <span>{label}</span>
      <input maxLength={500} autoComplete="off" spellCheck={false} {...input} />
      {hint !== undefined && <span className="soft">{hint}</span>}
    </label>
  );
}

interface ActProps {
  readonly label: string;
  /** Asked before it is done; the button then opens the question. */
  readonly asks?: 'sure' | 'why';
  /** Said beside the question. */
  readonly note?: string;
  act(why: string): Promise<unknown>;
}

/** Something to do with one thing of a list; what can't be undone asks first. */
export function Act({ label, asks, note, act }: ActProps) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const done = useMutation({
    // What an act answers may be a secret: it is not kept among the mutations.
    mutationFn: async (why: string) => void (await act(why)),
    onSuccess: () => setAsking(false),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'], predicate: isChanged }),
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    done.mutate(valuesOf(event.currentTarget).text('why'));
  }
  if (!isAsking)
    return (
      <>
        <button
          type="button"
          disabled={done.isPending}
          onClick={() => (asks === undefined ? done.mutate('') : setAsking(true))}
        >
          {label}
          {asks !== undefined && ' …'}
        </button>
        {done.isError && <ErrorNote error={done.error} />}
      </>
    );
  return (
    <form className="row" onSubmit={onSubmit}>
      {asks === 'why' && (
        <input name="why" aria-label="Why" placeholder="Why" maxLength={200} autoFocus autoComplete="off" />
      )}
      <button type="submit" className={styles.danger} disabled={done.isPending} autoFocus={asks === 'sure'}>
        {label}
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Cancel
      </button>
      {note !== undefined && <p className="soft">{note}</p>}
      {done.isError && <ErrorNote error={done.error} />}
    </form>
  );
}

/** A secret that is never shown again; it is in this page alone, and gone with it. */
export function SecretOnce({
  name,
  value,
  onDone,
}: {
  name: string;
  /** Null: it was in an answer that was lost. */
  value: string | null;
  onDone: () => void;
}) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div className={`card stack ${styles.secret}`} role="status">
      {value === null ? (
        <p>{name} was made, but the answer that held its secret was lost. Revoke it and make another.</p>
      ) : (
        <>
          <p>Copy the secret of {name} now: it is shown this once.</p>
          <code className={`mono ${styles.value}`}>{value}</code>
        </>
      )}
      <div className="row">
        {value !== null && (
          <button
            type="button"
            className="primary"
            autoFocus
            onClick={() =>
              void navigator.clipboard?.writeText(value).then(
                () => setCopied(true),
                () => undefined,
              )
            }
          >
            {isCopied ? 'Copied' : 'Copy'}
          </button>
        )}
        <button type="button" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}

/** A thing of a list: its name, what is known about it, and what can be done. */
export function Line({
  title,
  isOff = false,
  facts,
  acts,
  children,
}: {
  title: ReactNode;
  isOff?: boolean;
  facts: readonly ReactNode[];
  acts?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <li className={table.line}>
      <div className={table.main}>
        <p className={isOff ? styles.off : styles.title}>{title}</p>
        {facts.map((fact, place) => (
          <p key={place} className="soft">
            {fact}
          </p>
        ))}
      </div>
      {acts && <div className="row">{acts}</div>}
      {children && <div className={`stack ${table.wide}`}>{children}</div>}
    </li>
  );
}
