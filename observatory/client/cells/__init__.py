"""`%%observe`: a cell of a notebook as a run, with a live panel below it and then the run's card."""
