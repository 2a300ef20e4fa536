import {
  createContext,
  type ReactNode,
  type SubmitEvent,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import styles from './form.module.css';
import { type Fault, FormProblem, faultsIn, rejectionIn, textOf } from './form-faults.ts';
import { ErrorNote } from './Notes.tsx';

interface FormFaults {
  /** The messages by field. */
  readonly messages: Readonly<Record<string, string>>;
  /** Registers a field that shows its message. @returns a function that removes it */
  show(name: string): () => void;
}

const Faults = createContext<FormFaults>({ messages: {}, show: () => () => undefined });

interface FormProps {
  /** Why the last submission failed, if it did. */
  readonly error: unknown;
  /** The fields of the form by path in the request, for fields whose name differs from the path. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The fields of the form by error code, for errors in which the service names no field. */
  readonly codes?: Readonly<Record<string, string>>;
  readonly className?: string | undefined;
  /** The id of the form, for buttons outside it. */
  readonly id?: string;
  /** Shows an error that concerns no field of this form; by default an `ErrorNote`. */
  readonly note?: (error: unknown) => ReactNode;
  onSubmit(form: HTMLFormElement): void;
  readonly children: ReactNode;
}

interface Placed {
  readonly error: unknown;
  readonly messages: Readonly<Record<string, string>>;
  /** Whether at least one fault concerns no field of the form. */
  readonly hasRest: boolean;
}

/**
 * A form that shows the reason for each rejected value beside its field, and focuses the first of these fields. An
 * error that concerns no field is shown above them. A message disappears when the person changes the field.
 */
export function Form({
  error,
  fields = {},
  codes = {},
  className = 'stack',
  id,
  note = (shown) => <ErrorNote error={shown} />,
  onSubmit,
  children,
}: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const summary = useRef<HTMLDivElement>(null);
  const shown = useRef(new Map<string, number>());
  const [placed, setPlaced] = useState<Placed>();
  const current = placed?.error === error ? placed : undefined;
  const hasError = error !== null && error !== undefined;

  useLayoutEffect(() => {
    if (hasError) setPlaced(place(error, shown.current, { fields, codes }));
  }, [error]);
  useEffect(() => {
    if (current === undefined) return;
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-refused]');
    if (first != null) focusField(first);
    else if (current.hasRest) summary.current?.scrollIntoView({ block: 'nearest' });
  }, [placed?.error]);

  const messages = current?.messages ?? none;
  const [show] = useState(() => (name: string) => {
    const count = (change: number) => void shown.current.set(name, (shown.current.get(name) ?? 0) + change);
    count(1);
    return () => count(-1);
  });
  const context = useMemo(() => ({ messages, show }), [messages, show]);
  return (
    <form
      ref={form}
      id={id}
      className={className}
      onSubmit={(event: SubmitEvent<HTMLFormElement>) => {
        event.preventDefault();
        onSubmit(event.currentTarget);
      }}
      onInput={({ target }) => {
        const { name = '' } = target as Partial<HTMLInputElement>;
        if (current === undefined || !Object.hasOwn(messages, name)) return;
        const { [name]: _changed, ...rest } = messages;
        setPlaced({ ...current, messages: rest });
      }}
    >
      {current?.hasRest && <div ref={summary}>{note(error)}</div>}
      <Faults value={context}>{children}</Faults>
    </form>
  );
}

const none: Readonly<Record<string, string>> = {};

function place(
  error: unknown,
  shown: ReadonlyMap<string, number>,
  { fields, codes }: { fields: Readonly<Record<string, string>>; codes: Readonly<Record<string, string>> },
): Placed {
  const rejection = rejectionIn(error);
  const listed = faultsIn(error);
  const byCode =
    rejection !== undefined && Object.hasOwn(codes, rejection.code) ? codes[rejection.code] : undefined;
  const faults: readonly Fault[] =
    rejection !== undefined && listed.length === 0 && byCode !== undefined
      ? [{ path: byCode, message: textOf(rejection) }]
      : listed;
  const messages: Record<string, string> = {};
  // If a command sends several requests, its message states what the earlier ones have changed.
  let hasRest = faults.length === 0 || (rejection !== error && !(error instanceof FormProblem));
  for (const { path, message } of faults) {
    const name = fieldOf(path, fields, shown);
    if (name === undefined) hasRest = true;
    else messages[name] ??= message;
  }
  return { error, messages, hasRest };
}

/** The form's field for a path, or for the nearest path above it: `admit.domains.0` belongs to the domains field. */
function fieldOf(
  path: string,
  fields: Readonly<Record<string, string>>,
  shown: ReadonlyMap<string, number>,
): string | undefined {
  const parts = path.split('.');
  for (let length = parts.length; length > 0; length -= 1) {
    const at = parts.slice(0, length).join('.');
    const name = (Object.hasOwn(fields, at) ? fields[at] : undefined) ?? at;
    if ((shown.get(name) ?? 0) > 0) return name;
  }
  return undefined;
}

/** Unfolds the sections around a field and focuses it. A group can't have the focus, so its first input gets it. */
function focusField(field: HTMLElement): void {
  for (
    let fold = field.closest('details');
    fold !== null;
    fold = fold.parentElement?.closest('details') ?? null
  )
    fold.open = true;
  const control = field.matches('input, select, textarea')
    ? field
    : field.querySelector<HTMLElement>('input');
  control?.focus();
}

/**
 * The message for a field in the enclosing `Form`.
 * @returns the attributes of its control, or of the `fieldset` around its controls, and the message
 */
export function useFault(name: string | undefined) {
  const { messages, show } = useContext(Faults);
  const id = useId();
  useEffect(() => (name === undefined ? undefined : show(name)), [name, show]);
  const message = name === undefined ? undefined : messages[name];
  return {
    id,
    message,
    note: message !== undefined && (
      <span id={id} className={`text ${styles.fault}`} role="alert">
        {message}
      </span>
    ),
  };
}
