"""What people look at.

series       what the page and the figures draw, from a run's tables
report       the page, with `static/`            figures  pictures in the papers' form
compare      runs side by side                   compare_fct  two sets of completion times, flow by flow
"""
