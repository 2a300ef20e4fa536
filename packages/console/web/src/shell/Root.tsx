import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { keepFocus } from './keep-focus.ts';

/** Everything that all pages share, including those without navigation. */
export function Root() {
  useEffect(keepFocus, []);
  return <Outlet />;
}
