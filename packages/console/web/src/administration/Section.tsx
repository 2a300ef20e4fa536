import { type QueryKey, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { Form, useFault } from '../parts/Form.tsx';
import { useIdempotencyKeys } from '../parts/idempotency.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import table from '../parts/table.module.css';
import type { Administration } from './admin-secret.ts';
import styles from './administration.module.css';
import { isChanged } from './Choices.tsx';

export interface SectionProps {
  readonly admin: Administration;
  /** Shows a secret of a response, once. */
  onSecret(secret: SecretToShow): void;
}

export const pageSize = 100;
const secretsMax = 20;

interface ListProps<Item> {
  /** Query key below `administration`. */
  readonly name: QueryKey;
  read(
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<{ items: readonly Item[]; next?: string | undefined }>;
  readonly empty: string;
  children(item: Item): ReactNode;
}

/** A paginated list with its error and empty states. */
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

/** The values of a submitted form. */
export interface Values {
  text(name: string): string;
  all(name: string): string[];
}

/** Reads a form, for `onSubmit`. */
export function readValues(form: HTMLFormElement): Values & { readonly plain: object } {
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
  /**
   * @param idempotencyKey the same one until the values change, so that a retry after a lost response creates no
   * duplicate
   */
  make(values: Values, idempotencyKey: string): Promise<void>;
  readonly isOpenAtFirst?: boolean;
  /** The fields of the form by path in the request, and by error code; see `Form`. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly codes?: Readonly<Record<string, string>>;
  readonly children: ReactNode;
}

/** A collapsible form that creates an object and closes on success. */
export function Create({
  title,
  submit = 'Create',
  make,
  isOpenAtFirst = false,
  fields,
  codes,
  children,
}: CreateProps) {
  const queries = useQueryClient();
  const keys = useIdempotencyKeys();
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const details = useRef<HTMLDetailsElement>(null);
  const create = useMutation({
    mutationFn: (values: ReturnType<typeof readValues>) => make(values, keys.of(values.plain)),
    onSuccess: () => {
      keys.taken();
      details.current?.querySelector('form')?.reset();
      setOpen(false);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'], predicate: isChanged }),
  });
  return (
    <details
      ref={details}
      className={`card ${styles.create}`}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{title}</summary>
      <Form
        error={create.error}
        {...(fields && { fields })}
        {...(codes && { codes })}
        onSubmit={(form) => create.mutate(readValues(form))}
      >
        {children}
        <div className="row">
          <button type="submit" className="primary" disabled={create.isPending}>
            {create.isPending ? `${submit} …` : submit}
          </button>
        </div>
      </Form>
    </details>
  );
}

interface ActProps {
  readonly label: string;
  /** The accessible name of the button that begins the action, if the label alone is ambiguous. */
  readonly name?: string;
  /** Requires a confirmation, or a reason, before the action runs. */
  readonly confirm?: 'sure' | 'why';
  /** Shown beside the confirmation. */
  readonly note?: ReactNode;
  act(why: string): Promise<unknown>;
}

/** An action on one item of a list. Irreversible actions require a confirmation. */
export function Act({ label, name, confirm, note, act }: ActProps) {
  const queries = useQueryClient();
  const [isConfirming, setConfirming] = useState(false);
  const done = useMutation({
    // The response may contain a secret, so it must not enter the mutation cache.
    mutationFn: async (why: string) => void (await act(why)),
    onSuccess: () => setConfirming(false),
    onSettled: () => queries.invalidateQueries({ queryKey: ['administration'], predicate: isChanged }),
  });
  if (!isConfirming)
    return (
      <>
        <button
          type="button"
          // After a confirmed act, this button takes the focus while the list is still read again.
          disabled={confirm === undefined && done.isPending}
          {...(name !== undefined && { 'aria-label': name })}
          onClick={() => {
            if (confirm === undefined) return done.mutate('');
            done.reset();
            setConfirming(true);
          }}
        >
          {label}
          {confirm !== undefined && ' …'}
        </button>
        {done.isError && <ErrorNote error={done.error} />}
      </>
    );
  return (
    <Form
      className="row"
      error={done.error}
      fields={{ reason: 'why' }}
      onSubmit={(form) => done.mutate(readValues(form).text('why'))}
    >
      {confirm === 'why' && <Reason />}
      <button
        type="submit"
        className={styles.danger}
        disabled={done.isPending}
        autoFocus={confirm === 'sure'}
      >
        {label}
      </button>
      <button
        type="button"
        onClick={() => {
          done.reset();
          setConfirming(false);
        }}
      >
        Cancel
      </button>
      {note !== undefined && <p className="soft">{note}</p>}
    </Form>
  );
}

function Reason() {
  const { id, message, note } = useFault('why');
  return (
    <>
      <input
        name="why"
        aria-label="Reason (optional)"
        aria-invalid={message !== undefined || undefined}
        aria-describedby={message === undefined ? undefined : id}
        placeholder="Reason (optional)"
        maxLength={200}
        autoFocus
        autoComplete="off"
      />
      {note}
    </>
  );
}

export interface SecretToShow {
  readonly name: string;
  /** The value is a link for somebody else. */
  readonly isLink?: boolean;
  /** Null if the response that held the secret was lost. */
  readonly value: string | null;
}

/**
 * The secrets of a page that are shown once. They are outside the part that is removed when the administration is
 * locked, so each remains until the person closes it.
 */
export function useSecretsOnce() {
  const [secrets, setSecrets] = useState<readonly (SecretToShow & { readonly id: number })[]>([]);
  return {
    show: (secret: SecretToShow) =>
      setSecrets((others) => [{ ...secret, id: (others[0]?.id ?? 0) + 1 }, ...others].slice(0, secretsMax)),
    shown: secrets.map(({ id, ...secret }) => (
      <SecretOnce
        key={id}
        {...secret}
        onDone={() => setSecrets((all) => all.filter((other) => other.id !== id))}
      />
    )),
  };
}

/** A secret that is shown once. Only this page holds it. */
function SecretOnce({ name, isLink = false, value, onDone }: SecretToShow & { onDone: () => void }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div className={`card stack ${styles.secret}`} role="status">
      {value === null ? (
        <p>{name} was created, but the response with its secret was lost. Revoke it and create a new one.</p>
      ) : (
        <>
          <p>
            Copy {isLink ? name : `the secret of ${name}`} now{isLink && ', and send it to them yourself'}.
            You won't be able to see it again.
          </p>
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

/** An item of a list: its title, its details and its actions. */
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
          <div key={place} className="soft">
            {fact}
          </div>
        ))}
      </div>
      {acts && <div className="row">{acts}</div>}
      {children && <div className={`stack ${table.wide}`}>{children}</div>}
    </li>
  );
}
